// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"regexp"
	"strings"
)

// isFence reports a line that opens or closes a code fence.
func isFence(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "```") && !strings.Contains(line[3:], "`") && !strings.Contains(line, " ")
}

// isRuleLine reports a line of hyphens, equal signs, underscores or asterisks
// such as answers put around their parts.
func isRuleLine(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && (strings.Trim(line, "-") == "" || strings.Trim(line, "=") == "" || strings.Trim(line, "_") == "" || strings.Trim(line, "*") == "")
}

var answerHeading = regexp.MustCompile(`(?i)^\s*(?:#{1,6}\s*|\*\*\s*)(?:act\s*[123]\b|brainstorming|counterfactual story|detailed analysis|final judgement|final judgment|lines? (?:that|earlier)|explanation|decision|importance score|statement|insert after|bridge)`)

// isAnswerHeading reports a line that reads like a heading of one of our
// answer formats.
func isAnswerHeading(line string) bool { return answerHeading.MatchString(line) }
