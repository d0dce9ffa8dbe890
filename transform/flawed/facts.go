// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// factsVersion covers the rules that answer this stage offline.
var factsVersion = "2+" + offline.Version()

// readTries is how often a stage asks again for an answer it cannot read.
const readTries = 2

// facts asks what act 1 establishes.
func (m *maker) facts() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "facts", Version: factsVersion, Requires: []string{"acts"},
		Templates: []*llm.Template{factsCall.Template},
		Doc: "asks for the facts of act 1, the counterfactual of each, and the sentences that state it.\n\n" +
			"Reasons, for a fact: no_counterfactual, repeated_fact, no_change, evidence_not_found, kind_not_asked; " +
			"for the story: no_facts, and the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			res, err := ask(ctx, pass, factsCall, m.source(&d), readTries, nil)
			if err != nil {
				return nil, err
			}
			if res.Outcome == llm.NoRule {
				return nil, transform.Drop("no_facts", res.Reason)
			}
			for _, b := range res.Value.bad {
				pass.SetAside(d.DraftID, b.reason, b.detail)
			}
			d.Facts = nil
			for _, f := range res.Value.facts {
				if !m.asked(f.Kind, f.Subtype) {
					pass.SetAside(d.DraftID, "kind_not_asked", fmt.Sprintf("%s is of kind %s, subtype %s", f.ID, f.Kind, f.Subtype))
					continue
				}
				if len(f.Evidence) == 0 {
					// The fact may be an inference; then nothing of act 1 is gold
					// but what the judge's votes cite.
					pass.Log.Debug("fact without evidence", "id", d.DraftID, "fact", f.ID)
				}
				d.Facts = append(d.Facts, f)
			}
			if len(d.Facts) == 0 {
				return nil, transform.Drop("no_facts", "no fact of act 1 can be used")
			}
			stamp(&d, pass, "facts", factsVersion, factsCall.Template, res.Model, res.Key)
			return []schemas.Draft{d}, nil
		},
	}
}

// asked reports whether the recipe asks for this kind or subtype.
func (m *maker) asked(kind, subtype string) bool {
	k := m.cfg.Make.Kinds
	return len(k) == 0 || slices.Contains(k, kind) || slices.Contains(k, subtype)
}

// factList is a read answer: facts in order, and lines that are none.
type factList struct {
	facts []schemas.Fact
	bad   []badLine
}

type badLine struct{ reason, detail string }

var factsCall = llm.Call[prompt, factList]{
	Stage:    "flawed/facts",
	Template: template("facts"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 4096},
	Decode:   decodeFacts,
	Rule:     ruleFacts,
}

// ruleFacts writes the rules' facts as a model would.
func ruleFacts(in prompt) (string, error) {
	st := in.maker.offline(in.draft)
	act2, _ := actBytes(in.draft)
	parts := map[string]*strings.Builder{"character": {}, "setting": {}}
	n := 0
	for _, f := range in.maker.flips(in.draft, st) {
		if !st.Fits(f, act2) {
			continue
		}
		b := parts[f.Category]
		fmt.Fprintf(b, "- Fact: %s; Counterfactual: %s\n", f.Statement, f.Counterfactual)
		for _, e := range f.Evidence(act2) {
			fmt.Fprintf(b, "  Evidence: %s\n", oneLine(st.Sents[e].Of(st.Text)))
		}
		fmt.Fprintf(b, "  Type: %s / %s\n", f.Kind, f.Subtype)
		fmt.Fprintf(b, "  Detail: %s | %s | %s | %s\n", f.Class, f.Head, f.Old, f.New)
		n++
	}
	if n == 0 {
		return "", fmt.Errorf("the rules find no fact that act 1 states and a later act leans on: %w", llm.ErrNoRule)
	}
	return "Characters:\n" + parts["character"].String() + "\nSetting:\n" + parts["setting"].String(), nil
}

var (
	factLine     = regexp.MustCompile(`(?i)^\s*(?:[-*•–]|\d+[.)])?\s*\**(?:F\d+[.:)]?\s*)?\**\s*Fact\s*\d*\s*\**\s*:\s*\**\s*(.*)$`)
	factGroup    = regexp.MustCompile(`(?i)^\s*#*\s*\**\s*(Characters?|Settings?)\s*\**\s*:?\s*\**\s*$`)
	evidenceLine = regexp.MustCompile(`(?i)^\s*(?:[-*•]\s*)?\**Evidence\**\s*:\s*\**\s*(.*)$`)
	typeLine     = regexp.MustCompile(`(?i)^\s*(?:[-*•]\s*)?\**Type\**\s*:\s*\**\s*(.*)$`)
	detailLine   = regexp.MustCompile(`(?i)^\s*(?:[-*•]\s*)?\**Detail\**\s*:\s*\**\s*(.*)$`)
)

// decodeFacts reads the lines of the answer. A fact is split at its last
// "; Counterfactual:", since a fact may hold those words itself.
func decodeFacts(r *llm.Reply, in prompt) (factList, error) {
	var out factList
	group := "character"
	seen := map[string]bool{}
	act1 := quotesOf(&in.draft.Original, in.draft.Acts.Act2)
	var last *schemas.Fact
	for _, line := range joinLines(text.Freeze(r.Text)) {
		if g := factGroup.FindStringSubmatch(line); g != nil {
			group = "character"
			if strings.HasPrefix(strings.ToLower(g[1]), "s") {
				group = "setting"
			}
			last = nil
			continue
		}
		if g := evidenceLine.FindStringSubmatch(line); g != nil && last != nil {
			// A sentence given twice means the next of its places.
			ids := act1.find(g[1], func(id int) bool { return !slices.Contains(last.Evidence, id) })
			if len(ids) == 0 && !isNA(g[1]) {
				out.bad = append(out.bad, badLine{"evidence_not_found", last.ID + ": the quoted sentence does not stand in act 1"})
			}
			for _, id := range ids {
				if !slices.Contains(last.Evidence, id) {
					last.Evidence = append(last.Evidence, id)
				}
			}
			slices.Sort(last.Evidence)
			continue
		}
		if g := typeLine.FindStringSubmatch(line); g != nil && last != nil {
			readType(last, g[1])
			continue
		}
		if g := detailLine.FindStringSubmatch(line); g != nil && last != nil {
			if f := strings.Split(g[1], "|"); len(f) == 4 {
				last.Class, last.Head, last.Old, last.New = trim(f[0]), trim(f[1]), trim(f[2]), trim(f[3])
			}
			continue
		}
		g := factLine.FindStringSubmatch(line)
		if g == nil {
			continue
		}
		last = nil
		fact, counter, ok := cutLastFold(g[1], "counterfactual:")
		if !ok || trim(fact) == "" || trim(counter) == "" {
			out.bad = append(out.bad, badLine{"no_counterfactual", "a line has no fact or no counterfactual"})
			continue
		}
		f := schemas.Fact{ID: fmt.Sprintf("F%d", len(out.facts)+1), Category: group, Statement: trim(fact), Counterfactual: trim(counter), Evidence: []int{}, Kind: "continuity"}
		if foldStatement(f.Statement) == foldStatement(f.Counterfactual) {
			out.bad = append(out.bad, badLine{"no_change", f.ID + ": fact and counterfactual are the same"})
			continue
		}
		if k := foldStatement(f.Statement); seen[k] {
			out.bad = append(out.bad, badLine{"repeated_fact", f.ID + ": the fact stands twice in the answer"})
			continue
		} else {
			seen[k] = true
		}
		if isPlaceholder(f.Statement) || isPlaceholder(f.Counterfactual) {
			return out, llm.Failed(llm.Echo, "the prompt's own placeholder came back")
		}
		out.facts = append(out.facts, f)
		last = &out.facts[len(out.facts)-1]
	}
	if len(out.facts) == 0 {
		return out, llm.Failed(llm.ParseFailed, "no line of the form Fact: ...; Counterfactual: ...")
	}
	return out, nil
}

// joinLines cuts s into lines; a line that starts with none of our labels goes
// on with the one before it.
func joinLines(s string) []string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if isFence(l) || isRuleLine(l) {
			continue
		}
		starts := strings.TrimSpace(l) == "" || factLine.MatchString(l) || factGroup.MatchString(l) || evidenceLine.MatchString(l) || typeLine.MatchString(l) || detailLine.MatchString(l)
		if !starts && len(out) > 0 && out[len(out)-1] != "" {
			out[len(out)-1] += " " + strings.TrimSpace(l)
			continue
		}
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}

// cutLastFold cuts s around the last "; counterfactual:", whatever its case.
func cutLastFold(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(strings.ToLower(s), sep)
	if i < 0 || len(strings.ToLower(s)) != len(s) {
		return s, "", false
	}
	before = strings.TrimRight(s[:i], " *")
	if !strings.HasSuffix(before, ";") && !strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ",") {
		return s, "", false
	}
	return strings.TrimRight(before, ";,"), s[i+len(sep):], true
}

func trim(s string) string { return strings.TrimSpace(strings.Trim(strings.TrimSpace(s), "*")) }

func foldStatement(s string) string {
	return strings.TrimRight(strings.ToLower(typo(s)), " .;!")
}

// isPlaceholder reports that an answer gave the prompt's own placeholder back:
// <first line of act 2>, [[statement of F1]], {{line}}.
func isPlaceholder(s string) bool { return placeholder.MatchString(strings.TrimRight(s, ".")) }

var placeholder = regexp.MustCompile(`^(?:<[^<>\n]{2,120}>|\[\[.*\]\]|\{\{.*\}\})$`)

// isNA reports an answer that says there is none.
func isNA(s string) bool {
	s = strings.ToLower(strings.Trim(strings.TrimSpace(s), ".-*[](){}<> "))
	return s == "" || s == "na" || s == "n/a" || s == "none" || s == "not applicable"
}

// readType reads "kind / subtype"; what is unknown is left as it was.
func readType(f *schemas.Fact, s string) {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '|' || r == ',' || r == ';' }) {
		key := strings.ReplaceAll(strings.ToLower(trim(part)), " ", "_")
		key = strings.ReplaceAll(key, "-", "_")
		if slices.Contains(schemas.FlawKinds, key) {
			f.Kind = key
			continue
		}
		if _, sub, ok := schemas.FindSubtype(key); ok {
			f.Subtype = sub.Name
		}
	}
}
