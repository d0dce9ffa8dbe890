// SPDX-License-Identifier: Apache-2.0

package splits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// prose makes n sources, each with an original and an edited text that differ
// in a word, then lets spoil touch the positives.
func prose(n int, spoil func(r *rand.Rand, s string) string) []Doc {
	r := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("the a miller river lamp walked slept found lost red blue old king daughter under over bread night and but he she it was had to of in")
	colours := []string{"red", "blue", "green", "grey", "white"}
	var docs []Doc
	for i := range n {
		var b strings.Builder
		for range 20 + r.IntN(20) {
			for range 4 + r.IntN(8) {
				b.WriteString(words[r.IntN(len(words))] + " ")
			}
			b.WriteString("stone. ")
			if r.IntN(4) == 0 {
				b.WriteString("\n\n")
			}
		}
		text := func() string {
			return strings.TrimSpace(b.String()) + " The hat was " + colours[r.IntN(len(colours))] + "."
		}
		g := fmt.Sprintf("g%03d", i)
		docs = append(docs, Doc{ID: g + "-n", Group: g, Story: text()}, Doc{ID: g + "-p", Group: g, Positive: true, Story: spoil(r, text())})
	}
	return docs
}

func clean(_ *rand.Rand, s string) string { return s }

func TestAuditPassesCleanRows(t *testing.T) {
	rep := Audit("c", prose(80, clean), "")
	if !rep.Judged || !rep.Passed || *rep.AUC > 0.6 {
		t.Errorf("texts that differ in a random colour: %+v, AUC %v", rep, *rep.AUC)
	}
	if again := Audit("c", prose(80, clean), ""); !cmp.Equal(rep, again) {
		t.Errorf("two runs differ: %s", cmp.Diff(rep, again))
	}
}

func TestAuditFindsTellTales(t *testing.T) {
	most := func(p float64, f func(string) string) func(*rand.Rand, string) string {
		return func(r *rand.Rand, s string) string {
			if r.Float64() < p {
				return f(s)
			}
			return s
		}
	}
	for name, c := range map[string]struct {
		spoil func(*rand.Rand, string) string
		names string // of a feature
	}{
		"a stray line at the end, 5 of 6": {most(5.0/6, func(s string) string { return s + "\n\n-------" }), "---"},
		"wider paragraph gaps":            {most(0.8, func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n\n\n") }), ""},
		"shorter by a third":              {most(1, func(s string) string { return s[len(s)/3:] }), ""},
		"a tag left over":                 {most(0.9, func(s string) string { return strings.Replace(s, "The hat", "<m>The hat", 1) }), "<m>"},
		"typographic quotes":              {most(0.7, func(s string) string { return strings.Replace(s, "lamp", "lamp’s", 3) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			rep := Audit("c", prose(80, c.spoil), "")
			if rep.Passed || *rep.Lower <= LeakLimit {
				t.Errorf("passed with lower bound %v", *rep.Lower)
			}
			if !strings.Contains(strings.Join(rep.Features, " "), c.names) {
				t.Errorf("features %v do not name %q", rep.Features, c.names)
			}
		})
	}
}

func TestAuditReportsWithoutJudging(t *testing.T) {
	spoil := func(_ *rand.Rand, s string) string { return s + " THE END" }
	few := Audit("c", prose(MinGroups-1, spoil), "")
	if few.Judged || !few.Passed || *few.Lower < 0.9 || !strings.Contains(few.Why, "needed to judge") {
		t.Errorf("under %d sources: %+v", MinGroups, few)
	}
	rules := Audit("c", prose(MinGroups, spoil), "made by rules")
	if rules.Judged || !rules.Passed || rules.Why != "made by rules" {
		t.Errorf("made by rules: %+v", rules)
	}
	if one := Audit("c", prose(60, spoil)[:1], ""); one.AUC != nil || !one.Passed {
		t.Errorf("one label: %+v", one)
	}
}
