// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
)

const (
	markOpen  = "<m>"
	markClose = "</m>"
)

// unmark takes the <m></m> tags out of s and returns what they enclosed, as
// byte ranges of the text without tags. Tags that nest, do not pair up or
// enclose nothing are an error. Blanks that a tag parted from the next ones
// become one run.
func unmark(s string) (string, []text.Range, error) {
	var b strings.Builder
	var marks []text.Range
	open := -1
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			write(&b, s[at:])
			break
		}
		write(&b, s[at:at+i])
		at += i
		switch {
		case hasPrefixFold(s[at:], markOpen):
			if open >= 0 {
				return "", nil, fmt.Errorf("<m> inside <m>, at byte %d", at)
			}
			open = b.Len()
			at += len(markOpen)
		case hasPrefixFold(s[at:], markClose):
			if open < 0 {
				return "", nil, fmt.Errorf("</m> without <m>, at byte %d", at)
			}
			if b.Len() > open {
				marks = append(marks, text.Range{Start: open, End: b.Len()})
			}
			open = -1
			at += len(markClose)
		default:
			b.WriteByte('<')
			at++
		}
	}
	if open >= 0 {
		return "", nil, fmt.Errorf("<m> is never closed")
	}
	return b.String(), marks, nil
}

// write appends s; a blank at its start does not double one at the end of b.
func write(b *strings.Builder, s string) {
	if have := b.String(); strings.HasSuffix(have, " ") || have == "" {
		s = strings.TrimLeft(s, " ")
	}
	b.WriteString(s)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
