// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/schemas"
)

// headings are the forms in which models write a heading, NAME standing for it.
var headings = map[string]string{
	"hashes":            "### NAME",
	"more hashes":       "##### NAME",
	"hashes and bold":   "### **NAME**",
	"colon":             "## NAME:",
	"bold":              "**NAME**",
	"bold and colon":    "**NAME:**",
	"bold, colon after": "**NAME**:",
	"bold italic":       "***NAME***",
	"underscores":       "__NAME__",
	"numbered":          "### 3. NAME",
	"numbered bold":     "3. **NAME**",
	"bold numbered":     "**3. NAME**",
	"bullet":            "- **NAME**",
	"quoted":            "> ### NAME",
	"bare":              "NAME",
	"bare and colon":    "NAME:",
	"no blank":          "###NAME",
	"other case":        "### name",
}

// decorate writes the headings of an answer in another form.
func decorate(answer, form string) string {
	lines := strings.Split(answer, "\n")
	for i, l := range lines {
		if name := strings.TrimLeft(l, "# "); strings.HasPrefix(l, "#") {
			if strings.Contains(form, "name") {
				name = strings.ToLower(name)
			}
			lines[i] = strings.NewReplacer("NAME", name, "name", name).Replace(form)
		}
	}
	return strings.Join(lines, "\n")
}

// TestHeadingForms: every decoder of a form with headings reads them in
// whatever form they come, and reads the same.
func TestHeadingForms(t *testing.T) {
	yes := verdictText(true, []string{"“A later sentence.”", "Another one."}, []string{"An early sentence."})
	wantVerdict := verdict{yes: true, errors: []string{"“A later sentence.”", "Another one."}, contradicted: []string{"An early sentence."},
		explanation: "The marked lines go by another fact than the beginning."}
	resolve := "## Reasoning\nThere is room for it.\n\n### Insert after\nAn early sentence.\n\n### Context\nIt was painted over.\n"
	typed := "### Reasoning\nA scene leans on it.\n\n### Kind\ncontinuity\n\n### Severity\nharmless\n\n### Subtype\nmemory_contradictions\n"
	rewritten := "## Brainstorming\nAct 1: one line changes.\n\n## Counterfactual Story\n### Act 1:\nOne.\n\n### Act 2:\nTwo.\n\n### Act 3:\nThree.\n"
	for name, form := range headings {
		t.Run(name, func(t *testing.T) {
			v, err := decodeVerdict(llm.NewReply(decorate(yes, form)), prompt{})
			if diff := cmp.Diff(wantVerdict, v, cmp.AllowUnexported(verdict{})); err != nil || diff != "" {
				t.Errorf("judge: %v %s\n%s", err, diff, decorate(yes, form))
			}
			if v, err := decodeVerdict(llm.NewReply(decorate(verdictText(false, nil, nil), form)), prompt{}); err != nil || v.yes || len(v.errors)+len(v.contradicted) > 0 {
				t.Errorf("judge, no error: %v %+v", err, v)
			}
			if c, err := decodeContext(llm.NewReply(decorate(resolve, form)), prompt{}); err != nil || c.after != "An early sentence." || c.words != "It was painted over." {
				t.Errorf("resolve: %v %+v", err, c)
			}
			if f, err := decodeType(llm.NewReply(decorate(typed, form)), prompt{}); err != nil || f.Kind != "continuity" || f.Severity != "harmless" || f.Subtype != "memory_contradictions" {
				t.Errorf("type: %v %+v", err, f)
			}
			if acts, err := decodeRewrite(llm.NewReply(decorate(rewritten, form)), prompt{}); err != nil || acts != [3]string{"One.", "Two.", "Three."} {
				t.Errorf("rewrite: %v %q", err, acts)
			}
		})
	}
}

// TestTextBehindHeading: what stands behind a heading on its own line counts.
func TestTextBehindHeading(t *testing.T) {
	v, err := decodeVerdict(llm.NewReply("**Detailed Analysis:** I read it.\n\n**Lines that introduce the continuity error:**\n- One sentence.\n  (a remark)\n\n  - and why it is so\n"+
		"**Lines earlier in the story contradicted by the continuity error:**\nThese are:\n1. Early one.\n2. Early two.\n\n*Both are plain.*\n**Explanation:** They differ.\n**Decision:** Hence my answer is \"There is a continuity error in the story\""), prompt{})
	want := verdict{yes: true, errors: []string{"One sentence. (a remark)\nand why it is so"}, contradicted: []string{"Early one.", "Early two.\n*Both are plain.*"}, explanation: "They differ."}
	if diff := cmp.Diff(want, v, cmp.AllowUnexported(verdict{})); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestSharesLeaveOutWhatNobodyKnows: a vote with a lost quote neither keeps a
// sentence that the others cite out of gold, nor brings one in.
func TestSharesLeaveOutWhatNobodyKnows(t *testing.T) {
	full, other := vote{said: sayYes, errors: []int{12, 14, 17}}, vote{said: sayYes, errors: []int{17}}
	lost := vote{said: sayYes, errors: []int{17}, lostErrors: []string{"something"}}
	for _, c := range []struct {
		name   string
		yes    []vote
		twelve float64
	}{
		{"all read", []vote{full, full, full, other}, 0.75},
		{"two lost", []vote{full, full, lost, lost}, 1},
		{"two lost, and no majority", []vote{full, other, lost, lost}, 0.5},
		{"too many lost: all count", []vote{full, lost, lost, lost}, 0.25},
	} {
		share := sharesOf(c.yes, func(v vote) ([]int, []string) { return v.errors, v.lostErrors })
		if share(12) != c.twelve || share(17) != 1 || share(1) != 0 {
			t.Errorf("%s: shares %v, %v, %v; want %v, 1, 0", c.name, share(12), share(17), share(1), c.twelve)
		}
	}
}

// TestExplanationIsOfTheGold: the explanation comes from a vote that means the
// gold sentences, in the order of the votes.
func TestExplanationIsOfTheGold(t *testing.T) {
	d := &schemas.Draft{Errors: []schemas.GoldSentence{{Sentence: 7}, {Sentence: 9}}, Contradicted: []schemas.GoldSentence{{Sentence: 1}}}
	yes := []vote{
		{errors: []int{20}, contradicted: []int{1}, explanation: "of another sentence"},
		{errors: []int{7}, contradicted: []int{1}, explanation: "of a part"},
		{errors: []int{7, 9}, contradicted: []int{1}},
		{errors: []int{7, 9, 20}, contradicted: []int{1, 2}, explanation: "of more"},
		{errors: []int{7, 9}, contradicted: []int{1}, explanation: "of the gold"},
		{errors: []int{7, 9}, contradicted: []int{1}, explanation: "of the gold, later"},
	}
	if got := explain(d, yes); got != "of the gold" {
		t.Error(got)
	}
	if got := explain(d, slices.Clone(yes[:2])); got != "of a part" {
		t.Error(got)
	}
}
