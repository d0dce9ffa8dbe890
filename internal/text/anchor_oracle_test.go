// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/retcon-bench/retcon/internal/text/texttest"
)

// oracleLine is a line of anchors.jsonl, joined with its quote and story.
type oracleLine struct {
	Run         string   `json:"run"`
	ID          int      `json:"id"`
	Col         string   `json:"col"`
	K           int      `json:"k"`
	Field       string   `json:"field"`
	Cls         string   `json:"cls"`
	Occurrences int      `json:"occurrences"`
	Spans       [][2]int `json:"spans"`

	quote string
	story *oracleStory
}

type oracleStory struct {
	set   string
	id    int
	index *Index
	anch  *Anchorer
	words string // see plainWords
}

func (l oracleLine) String() string {
	return fmt.Sprintf("%s/%d/%s[%d].%s", l.Run, l.ID, l.Col, l.K, l.Field)
}

type oracleData struct {
	lines    []oracleLine
	stories  []*oracleStory
	examples []string
}

var oracleOnce = sync.OnceValue(func() *oracleData { return &oracleData{} })

// oracle reads the shared runs once.
func oracle(t testing.TB) *oracleData {
	t.Helper()
	dir := texttest.Oracle(t)
	d := oracleOnce()
	if d.lines != nil {
		return d
	}
	type key struct {
		name string
		id   int
	}
	stories := map[key]*oracleStory{}
	files, _ := filepath.Glob(filepath.Join(dir, "data/stories/*.jsonl"))
	for _, f := range files {
		set := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		texttest.EachLine(t, f, func(row struct {
			ID    int     `json:"id"`
			Story *string `json:"generated_story"`
		}) {
			if row.Story == nil {
				return
			}
			s := &oracleStory{set, row.ID, NewIndex(*row.Story), NewAnchorer(*row.Story), plainWords(*row.Story)}
			stories[key{set, row.ID}] = s
			d.stories = append(d.stories, s)
		})
	}
	type judged struct {
		set   string
		cells map[string]string
	}
	rows := map[key]judged{}
	files, _ = filepath.Glob(filepath.Join(dir, "data/judge/*.jsonl"))
	for _, f := range files {
		run := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		texttest.EachLine(t, f, func(row struct {
			ID    int               `json:"id"`
			Set   string            `json:"story_set"`
			Cells map[string]string `json:"cells"`
		}) {
			rows[key{run, row.ID}] = judged{row.Set, row.Cells}
		})
	}
	texttest.EachLine(t, filepath.Join(dir, "anchors.jsonl"), func(l oracleLine) {
		row := rows[key{l.Run, l.ID}]
		var cell []map[string]any
		if err := json.Unmarshal([]byte(row.cells[l.Col]), &cell); err != nil || l.K >= len(cell) {
			t.Fatalf("%s: no such cell: %v", l, err)
		}
		l.quote, _ = cell[l.K][l.Field].(string)
		l.story = stories[key{row.set, l.ID}]
		d.lines = append(d.lines, l)
	})
	var examples []struct{ Text string }
	data, err := os.ReadFile(filepath.Join(dir, "prompt_examples.json"))
	if err == nil {
		err = json.Unmarshal(data, &examples)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		d.examples = append(d.examples, e.Text)
	}
	if len(d.lines) == 0 || len(d.stories) == 0 || len(d.examples) == 0 {
		t.Fatalf("%s holds no lines, stories or examples", dir)
	}
	return d
}

// table prints counts by oracle class (rows) and our class (columns).
func table(t *testing.T, counts map[string]map[Class]int) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-26s", "oracle class")
	for _, c := range Classes() {
		fmt.Fprintf(&b, "%12s", c)
	}
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "\n%-26s", k)
		for _, c := range Classes() {
			fmt.Fprintf(&b, "%12d", counts[k][c])
		}
	}
	t.Log(b.String())
}

// TestOracleAnchors holds anchoring against the spans of the shared runs, with
// the tolerances written there.
func TestOracleAnchors(t *testing.T) {
	d := oracle(t)
	counts := map[string]map[Class]int{}
	genuine, found := 0, 0
	near, nearBad := 0, 0
	for _, l := range d.lines {
		if l.quote == "" {
			if texttest.Genuine(l.Cls) {
				t.Errorf("%s: genuine line has no quote", l)
			}
			continue
		}
		m := l.story.anch.Find(l.quote, -1)
		if counts[l.Cls] == nil {
			counts[l.Cls] = map[Class]int{}
		}
		counts[l.Cls][m.Class]++
		if !texttest.Genuine(l.Cls) {
			continue
		}
		genuine++
		if m.Class.Found() {
			found++
		}
		if m.Class == ClassFuzzy && !m.Flagged {
			t.Errorf("%s: fuzzy and not flagged", l)
		}
		var spans [][2]int
		for _, r := range m.Ranges {
			sp, err := l.story.index.FromBytes(r.Start, r.End)
			if err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			spans = append(spans, [2]int{sp.Start, sp.End})
		}
		bad := func(what string) {
			t.Errorf("%s (%s): %s\n quote  %q\n oracle %v\n ours   %v %s %s %v", l, l.Cls, what, l.quote, l.Spans, spans, m.Class, m.Why, m.Changes)
		}
		switch {
		case l.Cls == "a_verbatim":
			if m.Class != ClassExact || m.Occurrences != l.Occurrences || spans[0] != l.Spans[0] {
				bad("verbatim span differs")
				continue
			}
			for i, s := range m.Starts {
				if sp, err := l.story.index.FromBytes(s, s); err != nil || sp.Start != l.Spans[i][0] {
					bad("starts differ")
				}
			}
			// The position chooses among several.
			for _, want := range l.Spans {
				sp, err := l.story.index.FromRunes(want[0], want[1])
				if err != nil {
					t.Fatal(err)
				}
				if m := l.story.anch.Find(l.quote, sp.ByteStart); m.Ranges[0] != (Range{sp.ByteStart, sp.ByteEnd}) {
					bad("hint not followed")
				}
			}
		case l.Cls[0] == 'b':
			ok := m.Class.Normalised() && m.Occurrences == l.Occurrences
			ok = ok && slices.ContainsFunc(l.Spans, func(s [2]int) bool {
				return abs(s[0]-spans[0][0]) <= 4 && abs(s[1]-spans[0][1]) <= 4
			})
			if !ok {
				bad("normalised span differs")
			}
		case strings.HasPrefix(l.Cls, "c0"):
			if m.Class != ClassPieces || texttest.Overlap(spans, l.Spans) < 0.8 && l.Cls != "c0_elided_some_segments" {
				bad("pieces differ")
			}
		case strings.HasPrefix(l.Cls, "c1"), strings.HasPrefix(l.Cls, "c2"):
			near++
			if !m.Class.Found() || texttest.Overlap(spans, l.Spans) < 0.8 {
				nearBad++
				t.Logf("%s (%s): overlap %.2f\n quote  %q\n oracle %v\n ours   %v %s %s %v", l, l.Cls, texttest.Overlap(spans, l.Spans), l.quote, l.Spans, spans, m.Class, m.Why, m.Changes)
			}
		default:
			if m.Class.Found() {
				bad("found what the oracle calls no evidence")
			}
		}
	}
	table(t, counts)
	t.Logf("genuine quotes anchored: %d of %d (%.2f %%); near ones outside the tolerance: %d of %d", found, genuine, 100*float64(found)/float64(genuine), nearBad, near)
	if float64(found) < 0.98*float64(genuine) {
		t.Errorf("less than 98 %% anchored")
	}
}

// TestOracleEchoes tells the quotes that were copied from the prompt's examples
// from all others.
func TestOracleEchoes(t *testing.T) {
	d := oracle(t)
	e := NewEchoes(d.examples)
	copied, genuine := 0, 0
	for _, l := range d.lines {
		if l.quote == "" {
			continue
		}
		m, kind := l.story.anch.FindOrEcho(l.quote, -1, e)
		switch l.Cls {
		case "x_prompt_example":
			if copied++; kind != EchoExact || m.Class != ClassNone {
				t.Errorf("%s: %q is an example: %q %+v", l, l.quote, kind, m)
			}
		case "x_prompt_example_edited":
			if copied++; kind == "" || m.Class != ClassNone {
				t.Errorf("%s: %q is an edited example: %q %+v", l, l.quote, kind, m)
			}
		default:
			if genuine++; kind != "" {
				t.Errorf("%s (%s): %q is no example: %q", l, l.Cls, l.quote, kind)
			}
		}
	}
	t.Logf("%d copied quotes told from %d others", copied, genuine)
}

func abs(n int) int { return max(n, -n) }
