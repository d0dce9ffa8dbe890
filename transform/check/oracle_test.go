// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/internal/text/texttest"
	"github.com/retcon-bench/retcon/schemas"
)

// These tests hold real answers of real judges (oracles/constory of the shared
// folder) against what this package makes of them.

type oracleAnchor struct {
	Run, Col, Field, Cls string
	ID, K                int
	Spans                [][2]int
}

type storyKey struct {
	set string
	id  int
}

type oracleRow struct {
	ID    int               `json:"id"`
	Set   string            `json:"story_set"`
	Cells map[string]string `json:"cells"`
	run   string
}

// oracleRun reads stories and rows of the shared runs.
func oracleRun(t testing.TB) (stories map[storyKey]string, rows []oracleRow) {
	dir := texttest.Oracle(t)
	stories = map[storyKey]string{}
	files, _ := filepath.Glob(filepath.Join(dir, "data/stories/*.jsonl"))
	for _, f := range files {
		set := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		texttest.EachLine(t, f, func(g struct {
			ID    int     `json:"id"`
			Story *string `json:"generated_story"`
		}) {
			if g.Story != nil {
				stories[storyKey{set, g.ID}] = *g.Story
			}
		})
	}
	files, _ = filepath.Glob(filepath.Join(dir, "data/judge/*.jsonl"))
	for _, f := range files {
		texttest.EachLine(t, f, func(r oracleRow) {
			r.run = strings.TrimSuffix(filepath.Base(f), ".jsonl")
			rows = append(rows, r)
		})
	}
	if len(stories) == 0 || len(rows) == 0 {
		t.Fatalf("%s holds no stories or rows", dir)
	}
	return stories, rows
}

func oracleExamples(t testing.TB) []string {
	var examples []struct{ Text string }
	data, err := os.ReadFile(filepath.Join(texttest.Oracle(t), "prompt_examples.json"))
	if err == nil {
		err = json.Unmarshal(data, &examples)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range examples {
		out = append(out, e.Text)
	}
	return out
}

// column finds category and subtype of one of the reference's columns.
func column(name string) (schemas.Category, string) {
	for _, c := range schemas.Categories {
		for _, s := range c.Subtypes {
			if c.Column(s) == name {
				return c, s.Name
			}
		}
	}
	return schemas.Category{}, ""
}

// TestOracleFindings takes each finding of the shared runs through decoding,
// anchoring and ordering, and holds both quotes against the oracle's spans.
func TestOracleFindings(t *testing.T) {
	stories, rows := oracleRun(t)
	anchors := map[string]oracleAnchor{}
	texttest.EachLine(t, filepath.Join(texttest.Oracle(t), "anchors.jsonl"), func(a oracleAnchor) {
		anchors[fmt.Sprintf("%s %d %s %d %s", a.Run, a.ID, a.Col, a.K, a.Field)] = a
	})
	examples := text.NewEchoes(oracleExamples(t))
	counts := map[string]map[string]int{}
	states := map[string]int{}
	genuine, found, pairs, swapped, near, nearOff := 0, 0, 0, 0, 0, 0
	for _, row := range rows {
		s, ok := stories[storyKey{row.Set, row.ID}]
		if !ok {
			continue
		}
		loc := NewLocator(s, examples)
		var cols []string
		for col := range row.Cells {
			cols = append(cols, col)
		}
		sort.Strings(cols)
		for _, col := range cols {
			var raws []json.RawMessage
			if json.Unmarshal([]byte(row.Cells[col]), &raws) != nil {
				continue // ERROR: ...
			}
			cat, sub := column(col)
			for k, raw := range raws {
				it, err := ReadItem(raw)
				if err != nil {
					t.Errorf("%s/%d/%s[%d]: %v", row.run, row.ID, col, k, err)
					continue
				}
				f := loc.Finding(cat.Name, sub, it, -1)
				states[f.Status]++
				for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
					for _, sp := range e.Spans {
						if err := sp.Check(s); err != nil {
							t.Errorf("%s/%d: %v", row.run, row.ID, err)
						}
					}
					if e.Class == string(text.ClassFuzzy) && !e.Flagged {
						t.Errorf("%s/%d: fuzzy and not flagged: %q", row.run, row.ID, e.Quote)
					}
				}
				if len(f.Fact.Spans) > 0 && len(f.Contra.Spans) > 0 {
					pairs++
					if f.Fact.Quote == strings.Join(it.Contra, " ... ") && f.Fact.Quote != f.Contra.Quote {
						swapped++
					}
				}
				for field, quote := range map[string]string{"exact_quote": strings.Join(it.Fact, " ... "), "contradiction_pair": strings.Join(it.Contra, " ... ")} {
					a, ok := anchors[fmt.Sprintf("%s %d %s %d %s", row.run, row.ID, col, k, field)]
					if !ok || quote == "" {
						continue
					}
					e := f.Fact
					if e.Quote != quote {
						e = f.Contra
					}
					if counts[a.Cls] == nil {
						counts[a.Cls] = map[string]int{}
					}
					class := e.Class
					if f.Status == Copied && class == "none" {
						class = "copied"
					}
					if e.Why == whySame {
						class = "same passage"
					}
					counts[a.Cls][class]++
					if !texttest.Genuine(a.Cls) {
						if len(e.Spans) > 0 || f.Status == Anchored {
							t.Errorf("%s/%d/%s[%d]: a copied example was not put aside: %q", row.run, row.ID, col, k, quote)
						}
						continue
					}
					genuine++
					if len(e.Spans) > 0 || e.Why == whySame {
						found++
					}
					if len(e.Spans) == 0 {
						continue
					}
					got := [2]int{e.Spans[0].Start, e.Spans[0].End}
					switch {
					case a.Cls == "a_verbatim":
						if !slices.Contains(a.Spans, got) || len(e.Spans) != 1 || e.Class != "exact" {
							t.Errorf("%s/%d/%s[%d].%s: verbatim span %v (%s), the oracle has %v", row.run, row.ID, col, k, field, got, e.Class, a.Spans)
						}
					case a.Cls[0] == 'b':
						if !slices.ContainsFunc(a.Spans, func(w [2]int) bool { return abs(w[0]-got[0]) <= 4 && abs(w[1]-got[1]) <= 4 }) {
							t.Errorf("%s/%d/%s[%d].%s: normalised span %v, the oracle has %v", row.run, row.ID, col, k, field, got, a.Spans)
						}
					case strings.HasPrefix(a.Cls, "c1"), strings.HasPrefix(a.Cls, "c2"):
						near++
						if shared(e.Spans, a.Spans) < 0.8 {
							nearOff++
						}
					}
				}
			}
		}
	}
	t.Log("\n" + classTable(counts))
	t.Logf("genuine quotes anchored: %d of %d (%.2f %%); findings %v; %d of %d pairs have their \"fact\" later; near quotes outside the tolerance: %d of %d",
		found, genuine, 100*float64(found)/float64(genuine), states, swapped, pairs, nearOff, near)
	if float64(found) < 0.98*float64(genuine) || genuine < 800 {
		t.Errorf("less than 98 %% of the genuine quotes anchored")
	}
	if states[Copied] == 0 || swapped == 0 {
		t.Error("no copied finding, or none whose fact is the later one: the runs have both")
	}
}

func abs(n int) int { return max(n, -n) }

// shared is how much of two sets of places is in both.
func shared(a []schemas.Span, b [][2]int) float64 {
	var at [][2]int
	for _, s := range a {
		at = append(at, [2]int{s.Start, s.End})
	}
	return texttest.Overlap(at, b)
}

func classTable(counts map[string]map[string]int) string {
	columns := []string{"exact", "typographic", "whitespace", "case", "punctuation", "pieces", "fuzzy", "none", "copied", "same passage"}
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s", "oracle class")
	for _, c := range columns {
		fmt.Fprintf(&b, "%13s", c)
	}
	var keys []string
	for k := range counts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "\n%-26s", k)
		for _, c := range columns {
			fmt.Fprintf(&b, "%13d", counts[k][c])
		}
	}
	return b.String()
}

// TestOracleRuns lets the real answers be given again: each row's cells make
// the answers of the reference protocol, errors included, and go through the
// whole step. A run of nothing but HTTP errors must not have a clean story.
func TestOracleRuns(t *testing.T) {
	stories, rows := oracleRun(t)
	type sum struct{ stories, ok, failed, findings, quarantined, also int }
	sums := map[string]*sum{}
	for _, row := range rows {
		s, ok := stories[storyKey{row.Set, row.ID}]
		if !ok || len(row.Cells) == 0 && strings.Contains(row.run, "crash") {
			continue
		}
		client, _ := judgeWith(t, func(category string, _ llm.Request) llm.Answer {
			lists := map[string]json.RawMessage{}
			for _, c := range schemas.Categories {
				if c.Name != category {
					continue
				}
				for _, sub := range c.Subtypes {
					cell, ok := row.Cells[c.Column(sub)]
					if strings.HasPrefix(cell, "ERROR") {
						return llm.Answer{Error: &llm.CallError{Status: 400, Message: cell}}
					}
					if !ok {
						cell = "[]"
					}
					lists[sub.Name] = json.RawMessage(cell)
				}
			}
			b, err := json.Marshal(lists)
			if err != nil {
				t.Fatal(err)
			}
			return say(string(b))
		})
		r := run(t, Config{Protocol: Reference}, client, s).Report
		if sums[row.run] == nil {
			sums[row.run] = &sum{}
		}
		u := sums[row.run]
		u.stories++
		for _, st := range r.Status {
			if st.Status == "ok" || st.Status == "repaired" {
				u.ok++
			} else {
				u.failed++
			}
		}
		for _, f := range r.Findings {
			u.findings++
			u.also += len(f.Also)
			if f.Status != Anchored {
				u.quarantined++
			}
		}
	}
	var names []string
	for n := range sums {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		t.Logf("%-38s %+v", n, *sums[n])
	}
	if u := sums["gpt4omini_first_by_o4mini_all400"]; u == nil || u.ok != 0 || u.failed != 5*u.stories {
		t.Errorf("a run of HTTP errors: %+v", u)
	}
	if u := sums["claude45_by_4omini_run1"]; u == nil || u.failed != 0 || u.findings == 0 {
		t.Errorf("a complete run: %+v", u)
	}
}

// TestOracleParseCases reads the 26 answers of judge_parse_cases.json as a
// judge's answer to one category.
func TestOracleParseCases(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(texttest.Oracle(t), "judge_parse_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Category, Response string
		Status                   string `json:"suggested_status"`
		Findings                 *int   `json:"suggested_findings"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) != 26 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	// Where the oracle leaves it open, or has another word than our statuses.
	want := map[string]string{
		"smart_quote_unescaped": "repaired", "array_of_strings": "parse_failed", "empty_quote_object": "ok", "placeholder_quote": "ok",
		"two_fences": "ok", "refusal": "refused", "truncated_json": "truncated", "truncated_fenced": "truncated",
	}
	for _, c := range cases {
		client, _ := judgeWith(t, func(category string, _ llm.Request) llm.Answer {
			if category == c.Category {
				return say(c.Response)
			}
			return say(lists(category, nil))
		})
		s := "Anna was Six. She was small, and the road was long. Anna turned Nine. Anna said “Six”."
		r := run(t, Config{Protocol: Reference}, client, s).Report
		status, ok := want[c.Name]
		if !ok {
			status = c.Status
		}
		if got := statuses(r)[c.Category+"/0"]; got != status {
			t.Errorf("%s: %s, want %s", c.Name, got, status)
		}
		if c.Findings != nil && len(r.Findings) != *c.Findings {
			t.Errorf("%s: %d findings, the oracle suggests %d", c.Name, len(r.Findings), *c.Findings)
		}
		for _, f := range r.Findings {
			quarantined := c.Name == "placeholder_quote"
			if (f.Status != Anchored) != quarantined {
				t.Errorf("%s: %s", c.Name, short(f))
			}
		}
	}
}
