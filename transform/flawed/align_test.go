// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/internal/text"
)

func TestUnmark(t *testing.T) {
	for _, c := range []struct{ in, want, marked, err string }{
		{"The <m>red</m> lamp.", "The red lamp.", "red", ""},
		{"<m>A lamp.</m> <m>A door.</m>", "A lamp. A door.", "A lamp.|A door.", ""},
		{"Go <m> far </m> away.", "Go far away.", "far ", ""},
		{"<M>Red</M>.", "Red.", "Red", ""},
		{"5 < 6 and <b>bold</b>.", "5 < 6 and <b>bold</b>.", "", ""},
		{"<m></m>Nothing.", "Nothing.", "", ""},
		{"<m>a <m>b</m></m>", "", "", "inside"},
		{"a</m> b", "", "", "without"},
		{"<m>a", "", "", "never closed"},
	} {
		got, marks, err := unmark(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want one with %q", c.in, err, c.err)
			}
			continue
		}
		var m []string
		for _, r := range marks {
			m = append(m, r.Of(got))
		}
		if err != nil || got != c.want || strings.Join(m, "|") != c.marked {
			t.Errorf("%q: %q, marks %q, %v; want %q, %q", c.in, got, m, err, c.want, c.marked)
		}
	}
}

func TestAlignAct(t *testing.T) {
	const act = "Mara lit the red lamp. Tom slept.\n\nMara lit the red lamp. “It burns,” she said."
	for _, c := range []struct {
		name, answer string
		want         string // the act with the edits made
		silent       string
		idle         int
	}{
		{"as it was", act, act, "", 0},
		{"a marked sentence changed", "<m>Mara lit the blue lamp.</m> Tom slept.\n\nMara lit the red lamp. “It burns,” she said.",
			"Mara lit the blue lamp. Tom slept.\n\nMara lit the red lamp. “It burns,” she said.", "", 0},
		{"a repeated sentence changes where it was changed", "Mara lit the red lamp. Tom slept.\n\n<m>Mara lit the blue lamp.</m> “It burns,” she said.",
			"Mara lit the red lamp. Tom slept.\n\nMara lit the blue lamp. “It burns,” she said.", "", 0},
		{"changed and not marked", "Mara lit the blue lamp. Tom slept.\n\nMara lit the red lamp. “It burns,” she said.", "", "Mara lit the blue lamp.", 0},
		{"marked and equal", "<m>Mara lit the red lamp.</m> Tom slept.\n\nMara lit the red lamp. “It burns,” she said.", act, "", 1},
		{"blanks and quotes are slips", "Mara lit the  red lamp. Tom slept.\nMara lit the red lamp. \"It burns,\" she said.", act, "", 0},
		{"untagged punctuation is a slip", "Mara lit the red lamp! Tom slept.\n\nMara lit the red lamp. “It burns”, she said.", act, "", 0},
		{"tagged punctuation is a change", "<m>Mara lit the red lamp!</m> Tom slept.\n\nMara lit the red lamp. “It burns,” she said.",
			"Mara lit the red lamp! Tom slept.\n\nMara lit the red lamp. “It burns,” she said.", "", 0},
		{"the source's quotes stay in a changed sentence", "Mara lit the red lamp. Tom slept.\n\nMara lit the red lamp. <m>\"It glows,\" she said.</m>",
			"Mara lit the red lamp. Tom slept.\n\nMara lit the red lamp. “It glows,” she said.", "", 0},
		{"left out", "Mara lit the red lamp. Mara lit the red lamp. “It burns,” she said.", "", "Tom slept.", 0},
		{"put in, marked", "Mara lit the red lamp. Tom slept. <m>Rain fell.</m>\n\nMara lit the red lamp. “It burns,” she said.",
			"Mara lit the red lamp. Tom slept. Rain fell.\n\nMara lit the red lamp. “It burns,” she said.", "", 0},
		{"put in, not marked", "Mara lit the red lamp. Tom slept. Rain fell.\n\nMara lit the red lamp. “It burns,” she said.", "", "Rain fell.", 0},
		{"two become one, marked", "<m>Mara lit the blue lamp while Tom slept.</m>\n\nMara lit the red lamp. “It burns,” she said.",
			"Mara lit the blue lamp while Tom slept.\n\nMara lit the red lamp. “It burns,” she said.", "", 0},
		{"a rule line of the answer's is no sentence", act + "\n\n-------", act, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, marks, err := unmark(c.answer)
			if err != nil {
				t.Fatal(err)
			}
			rw := alignAct(act, answer, marks)
			if got := strings.Join(rw.silent, "|"); got != c.silent {
				t.Errorf("silent %q, want %q", got, c.silent)
			}
			if c.silent != "" {
				return
			}
			if err := checkEdits(act, rw.edits); err != nil {
				t.Fatal(err)
			}
			got, _, _ := applyEdits(act, rw.edits, 0)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if rw.idle != c.idle {
				t.Errorf("%d idle marks, want %d", rw.idle, c.idle)
			}
		})
	}
}

// TestUndoGivesTheSourceBack: whatever a marked rewriting does to the sentences
// of a story, the variant made of it undoes to the source, byte for byte, and
// each edit's spans hold in the variant.
func TestUndoGivesTheSourceBack(t *testing.T) {
	sentence := rapid.SampledFrom([]string{
		"Mara lit the red lamp.", "Tom slept.", "“Is it late?” he asked.", "Zoë’s 👒 hat fell.", "It was 5 o'clock...", "Mara lit the red lamp.", "No one came!",
	})
	sep := rapid.SampledFrom([]string{" ", "\n\n", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		var src, answer strings.Builder
		for i := range n {
			s := sentence.Draw(t, "s")
			gap := ""
			if i > 0 {
				gap = sep.Draw(t, "sep")
			}
			src.WriteString(gap + s)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				answer.WriteString(gap + markOpen + strings.Replace(s, "a", "o", 2) + " And then some." + markClose)
			case 1:
				answer.WriteString(gap + markOpen + "Something else 😀 happened." + markClose)
			case 2: // left out
			default:
				answer.WriteString(gap + s)
			}
		}
		source := text.Trim(src.String())
		clean, marks, err := unmark(text.Freeze(answer.String()))
		if err != nil {
			t.Fatal(err)
		}
		rw := alignAct(source, clean, marks)
		v, err := newVariant("patched", source, rw.edits, 0)
		if err != nil {
			t.Skip(err) // white space at an end, or a text that is not frozen
		}
		back, err := Undo(v)
		if err != nil {
			t.Fatal(err)
		}
		if back != source {
			t.Fatalf("source %q\nanswer %q\nvariant %q\nback %q", source, clean, v.Text, back)
		}
	})
}
