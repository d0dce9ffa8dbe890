// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// TestAskedAgainWithTheReason: what cannot be read or used is asked for once
// more, in words that say what was wrong, and the second answer counts; when
// that is bad too, the reason is the second's.
func TestAskedAgainWithTheReason(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	cfg.Make.FactsPerSource = 1
	s, base := fullItem(t, cfg, stories)
	for name, c := range map[string]struct {
		stage, says, reason string
		bad                 func(text string) string
	}{
		"unmarked change": {"rewrite", "outside every <m>", "silent_edit", func(s string) string { return strings.NewReplacer(markOpen, "", markClose, "").Replace(s) }},
		"nested marks":    {"rewrite", "<m> inside <m>", "bad_tags", func(s string) string { return strings.Replace(s, markOpen, markOpen+markOpen, 1) }},
		"no headings":     {"rewrite", "of the 3 headings", "parse_failed", func(s string) string { return regexp.MustCompile("(?m)^#.*$").ReplaceAllString(s, "") }},
		"nothing changed": {"rewrite", "equals the source", "noop_edit", nil},
		"acts: misquoted": {"acts", "does not stand in the story", "parse_failed", func(s string) string {
			return regexp.MustCompile(`(First Line:\*\*).*`).ReplaceAllString(s, "$1 No such words stand in any tale of ours.")
		}},
		"resolve: placed nowhere": {"resolve", "does not stand between", "bridge_place", func(s string) string {
			return regexp.MustCompile(`(?s)### Insert after\n.*?\n\n`).ReplaceAllString(s, "### Insert after\nNo such words stand in any tale of ours.\n\n")
		}},
		"score: off the scale": {"score", "no importance score", "parse_failed", func(s string) string { return strings.ReplaceAll(s, "Score: 3", "Score: 9") }},
	} {
		if c.bad == nil {
			c.bad = func(s string) string {
				// The marks stay, the words are the source's.
				p := strings.SplitAfter(s, "## Counterfactual Story\n")[0]
				a2, a3 := actBytes(&base)
				o := base.Original.Text
				return p + "### Act 1:\n" + markOpen + o[:a2] + markClose + "\n### Act 2:\n" + o[a2:a3] + "\n### Act 3:\n" + o[a3:]
			}
		}
		for _, both := range []bool{false, true} {
			m := good{spoil: func(req llm.Request, text string) llm.Answer {
				if req.Stage == "flawed/"+c.stage && (req.Sample == 0 || both) {
					return says(c.bad(text))
				}
				return says(text)
			}}.model()
			o := run(t, cfg, m, s)
			var asked []llm.Request
			for _, req := range m.Asked() {
				if req.Stage == "flawed/"+c.stage {
					asked = append(asked, req)
				}
			}
			if len(asked) < 2 {
				t.Errorf("%s: asked %d times", name, len(asked))
				continue
			}
			first, second := asked[0].Messages[1].Content, asked[1].Messages[1].Content
			if head, again, ok := strings.Cut(second, "\n\nAn answer given before could not be used: "); !ok || !strings.Contains(again, c.says) || head != first {
				t.Errorf("%s: the second prompt ends %q", name, second[max(0, len(second)-200):])
			}
			i := slices.IndexFunc(o.Dropped, func(d schemas.Dropped) bool { return d.Stage == c.stage && d.Reason == c.reason })
			kept := len(o.Outs) == 1
			if c.stage == "resolve" { // the plot hole stays
				kept = kept && o.Outs[0].Resolved != nil
			}
			if both != (i >= 0) || both == kept || !both && o.Outs[0].Patched.TextHash != base.Patched.TextHash {
				t.Errorf("%s, both bad %v: %d items, %v", name, both, len(o.Outs), o.Dropped)
			}
		}
	}
}

// TestPromptsNameTheLimits: what is refused afterwards is said before.
func TestPromptsNameTheLimits(t *testing.T) {
	stories := embedded(t)
	cfg := Config{Seed: 1, Survey: surveyOf(stories)}
	cfg.Make.MaxSites = 4
	s, _ := fullItem(t, cfg, stories)
	m := good{}.model()
	run(t, cfg, m, s)
	seen := map[string]bool{}
	for _, req := range m.Asked() {
		p := req.Messages[1].Content
		form := p[strings.LastIndex(p, "\n</"):]
		switch stage := strings.TrimPrefix(req.Stage, "flawed/"); stage {
		case "score", "rewrite", "control":
			seen[stage] = true
			if !strings.Contains(form, "4 places") {
				t.Errorf("%s does not name the limit of places", stage)
			}
			if stage != "score" && !strings.Contains(form, "nothing after act 3") {
				t.Errorf("%s does not say where to stop", stage)
			}
		}
		if regexp.MustCompile(`(?i)\blines? (?:that you change|earlier|that introduce)`).MatchString(form) {
			t.Errorf("%s calls a sentence a line", req.Stage)
		}
		if strings.Contains(p, "could not be used") != (req.Sample > 0) && !strings.HasSuffix(req.Stage, "judge") && !strings.HasSuffix(req.Stage, "coherence") {
			t.Errorf("%s: a first prompt speaks of an answer before", req.Stage)
		}
	}
	if len(seen) != 3 {
		t.Errorf("seen %v", seen)
	}
}
