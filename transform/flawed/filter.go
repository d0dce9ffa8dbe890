// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const filterVersion = "1"

// filter turns down plot holes that the paper's and our own rules refuse
// before anybody judges them.
func (m *maker) filter() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "filter", Version: filterVersion, Requires: []string{"patch"},
		Doc: "refuses a plot hole when acts 2 and 3 are both unchanged (with strict_acts: either), when it changes more than max_sites places, " +
			"when its text tells its nature by something else than its story, and, for a rule's fact, when a value is left over or missing.\n\n" +
			"Reasons: acts_unchanged, act_unchanged, too_many_sites, tell_tale, value_missing, value_left, no_evidence.",
		Run: func(_ context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			_, a3 := d.Acts.Act2, d.Acts.Act3
			in2, in3 := 0, 0
			for _, e := range d.Patched.Edits {
				if e.SourceStart < a3 {
					in2++
				} else {
					in3++
				}
			}
			mod := changed(d.Patched)
			flaw := *d.Flaw
			flaw.Sites = sites(mod)
			d.Flaw = &flaw
			switch {
			case in2 == 0 && in3 == 0:
				return nil, transform.Drop("acts_unchanged", "the counterfactual changes act 1 only: nothing contradicts it")
			case m.cfg.Make.StrictActs && (in2 == 0 || in3 == 0):
				return nil, transform.Drop("act_unchanged", fmt.Sprintf("%d changes in act 2, %d in act 3", in2, in3))
			case flaw.Sites > m.cfg.Make.MaxSites:
				return nil, transform.Drop("too_many_sites", fmt.Sprintf("%d places changed; at most %d", flaw.Sites, m.cfg.Make.MaxSites),
					schemas.KeyValue{Key: "sites", Value: fmt.Sprint(flaw.Sites)}, schemas.KeyValue{Key: "sentences", Value: fmt.Sprint(len(mod))},
					schemas.KeyValue{Key: "tags", Value: fmt.Sprint(flaw.Tags)}, schemas.KeyValue{Key: "words", Value: fmt.Sprint(changedWords(d.Patched))})
			}
			for _, v := range []*schemas.Variant{d.Patched, d.Counterfactual} {
				if why := tellTale(d.Original.Text, v); why != "" {
					return nil, transform.Drop("tell_tale", v.Name+": "+why)
				}
			}
			if err := ruleChecks(&d); err != nil {
				return nil, err
			}
			stamp(&d, pass, "filter", filterVersion, nil, "")
			return []schemas.Draft{d}, nil
		},
	}
}

func changedWords(v *schemas.Variant) int {
	n := 0
	for _, e := range v.Edits {
		n += max(text.Words(e.Text), text.Words(e.Old))
	}
	return n
}

var (
	ruleLine  = regexp.MustCompile(`(?m)^[ \t]*([-=_*#~]{3,})[ \t]*$`)
	gapRun    = regexp.MustCompile(`\n{2,}`)
	metaWords = regexp.MustCompile(`(?i)\b(counterfactual|plot hole|continuity error|act (?:1|2|3|one|two|three)\b:|as an ai|<m>|</m>|\[/?m\])`)
)

// tellTale looks for what a reader could tell an edited story by, other than by
// reading it: rules and headings of the answer, other gaps between paragraphs,
// another kind of quotes or dashes, talk about the task.
func tellTale(source string, v *schemas.Variant) string {
	for _, e := range v.Edits {
		switch {
		case ruleLine.MatchString(e.Text) && !ruleLine.MatchString(e.Old):
			return "a line of signs was put in"
		case metaWords.MatchString(e.Text) && !metaWords.MatchString(source):
			return "an edit speaks of the task"
		case strings.Count(e.Text, "\n\n\n") > strings.Count(e.Old, "\n\n\n"):
			return "a gap between paragraphs grew"
		case strings.ContainsAny(e.Text, "“”") && !strings.ContainsAny(source, "“”"):
			return "curly quotes in a story of straight ones"
		case strings.Contains(e.Text, "\"") && !strings.Contains(source, "\"") && strings.ContainsAny(source, "“”"):
			return "straight quotes in a story of curly ones"
		case strings.Contains(e.Text, "—") && !strings.Contains(source, "—"):
			return "an em dash in a story without any"
		}
		for _, line := range strings.Split(e.Text, "\n") {
			if isAnswerHeading(line) {
				return "a heading of the answer is left"
			}
		}
	}
	if gapRun.MatchString(v.Text) != gapRun.MatchString(source) {
		return "paragraphs are parted in another way"
	}
	return ""
}

// ruleChecks are the automatic checks of facts that name the value they flip:
// every edit of act 2 and 3 stands where the old value was and holds the new
// one, and the source states the value in act 1.
func ruleChecks(d *schemas.Draft) error {
	f := d.Fact
	if f.Class == "" || f.Old == "" || f.New == "" {
		return nil
	}
	if len(f.Evidence) == 0 {
		return transform.Drop("no_evidence", "no sentence of act 1 states the fact")
	}
	source := sentencesOf(&d.Original)
	for _, e := range f.Evidence {
		if !holds(source[e], f.Old) {
			return transform.Drop("no_evidence", fmt.Sprintf("sentence %d of act 1 does not hold %q", e, f.Old))
		}
	}
	states := false
	now := sentencesOf(d.Patched)
	for _, e := range d.Patched.Edits {
		if !holds(e.Old, f.Old) {
			continue // an article, or the number of a noun
		}
		states = true
		if !holds(e.Text, f.New) {
			return transform.Drop("value_missing", fmt.Sprintf("an edit of sentence %d takes %q away and does not bring %q", e.Sentence, f.Old, f.New))
		}
	}
	if !states {
		return transform.Drop("value_missing", fmt.Sprintf("no edit behind act 1 stands where %q was", f.Old))
	}
	for _, s := range changed(d.Patched) {
		if !holds(now[s], f.New) || holds(now[s], f.Old) {
			return transform.Drop("value_left", fmt.Sprintf("changed sentence %d lacks %q or still holds %q", s, f.New, f.Old))
		}
	}
	return nil
}

// holds reports whether s holds the words of value, whatever their case.
func holds(s, value string) bool {
	return strings.Contains(" "+foldQuote(possessives(s))+" ", " "+foldQuote(value)+" ")
}

var possessive = regexp.MustCompile(`['’]s\b`)

func possessives(s string) string { return possessive.ReplaceAllString(s, " s") }
