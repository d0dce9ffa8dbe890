// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

// plainRecord is a story of so many words and errors, all of one category,
// completely judged.
func plainRecord(id string, words, errors int) CheckRecord {
	r := CheckRecord{ID: id, HasText: words > 0, Words: words, WordsCJK: words}
	for c := range r.Status {
		r.Status[c] = StatusOK
	}
	r.Counts[SubtypeFlags][0], r.Counts[Instances][0] = int32(errors), int32(errors)
	return r
}

// Worked by hand. Q = words/(1+errors):
//
//	prompt   A            B            C
//	p1       8000/4=2000  4000/2=2000  3000/3=1000   A 1, B 1 (tie), C 3
//	p2       1000/1=1000  2000/2=1000  1000/1=1000   A 1, B 1, C 1
//	p3       500/1=500    900/1=900    no story      A 2, B 1
//	p4       700/1        no story     no story      skipped: one model
//	p5       -            600/2=300    800/2=400     B 2, C 1; C's check failed in part
//
// A: (1+1+2)/3 = 4/3. B: (1+1+1+2)/4 = 5/4. C: (3+1+1)/3 = 5/3.
// Scores, max - GRR + 1: A 4/3, B 17/12, C 1.
// Strict leaves C's p5 out, so p5 is skipped: B 1, C (3+1)/2 = 2, A 4/3.
// Common ranks p1 and p2 only: A 1, B 1, C 2.
func grrRuns() []CheckRun {
	failed := plainRecord("p5", 800, 1)
	failed.Status[2] = StatusAPIError
	return []CheckRun{
		{"A", []CheckRecord{plainRecord("p1", 8000, 3), plainRecord("p2", 1000, 0), plainRecord("p3", 500, 0), plainRecord("p4", 700, 0)}},
		{"B", []CheckRecord{plainRecord("p1", 4000, 1), plainRecord("p2", 2000, 1), plainRecord("p3", 900, 0), plainRecord("p5", 600, 1)}},
		{"C", []CheckRecord{plainRecord("p1", 3000, 2), plainRecord("p2", 1000, 0), plainRecord("p3", 0, 0), failed}},
	}
}

func TestGRR(t *testing.T) {
	for _, c := range []struct {
		name              string
		o                 GRROptions
		a, b, c           float64
		scoreA            float64
		prompts, skip, in int
	}{
		{"reference", GRROptions{}, 4. / 3, 5. / 4, 5. / 3, 4. / 3, 4, 1, 1},
		{"strict", GRROptions{Strict: true}, 4. / 3, 1, 2, 5. / 3, 3, 2, 0},
		{"common", GRROptions{Common: true}, 1, 1, 2, 2, 2, 3, 0},
	} {
		g, err := GRR(grrRuns(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]ModelGRR{}
		for _, m := range g.Models {
			got[m.Model] = m
		}
		for m, want := range map[string]float64{"A": c.a, "B": c.b, "C": c.c} {
			if math.Abs(float64(got[m].GRR)-want) > 1e-12 {
				t.Errorf("%s: GRR of %s = %v, want %v", c.name, m, float64(got[m].GRR), want)
			}
		}
		if math.Abs(float64(got["A"].Score)-c.scoreA) > 1e-12 {
			t.Errorf("%s: score of A = %v, want %v", c.name, float64(got["A"].Score), c.scoreA)
		}
		if g.Prompts != c.prompts || g.Skipped != c.skip || g.Failed != c.in || (len(g.Warnings) > 0) != (c.in > 0) {
			t.Errorf("%s: %d prompts, %d skipped, %d failed ones ranked, warnings %q", c.name, g.Prompts, g.Skipped, g.Failed, g.Warnings)
		}
		if last := g.Models[2].Model; last != "C" {
			t.Errorf("%s: last is %s, want C", c.name, last)
		}
	}
}

// Intervals of ranks are drawn over prompts, whatever the workers.
func TestGRRInterval(t *testing.T) {
	runs := []CheckRun{{Name: "A"}, {Name: "B"}, {Name: "alone"}}
	for i := range 40 {
		id := fmt.Sprint(i)
		runs[0].Records = append(runs[0].Records, plainRecord(id, 1000, i%3))
		runs[1].Records = append(runs[1].Records, plainRecord(id, 600, 0))
	}
	runs[2].Records = []CheckRecord{plainRecord("x", 10, 0)}
	var first GRRTable
	for i, workers := range []int{1, 3} {
		g, err := GRR(runs, GRROptions{Resampling: &Resampling{N: 300, Seed: 5, Workers: workers}})
		if err != nil {
			t.Fatal(err)
		}
		for k, m := range g.Models {
			iv := m.Interval
			switch {
			case m.Model == "alone":
				if !math.IsNaN(iv.Low) {
					t.Errorf("a model without a rank has the interval %+v", iv)
				}
			case iv.Low >= float64(m.GRR) || iv.High <= float64(m.GRR) || iv.Low < 1 || iv.High > 2 || iv.Method != "bootstrap by prompt" || iv.Groups != 40:
				t.Errorf("%s: %v in %+v", m.Model, m.GRR, iv)
			case i > 0 && *iv != *first.Models[k].Interval:
				t.Errorf("%s: other workers, other interval", m.Model)
			}
		}
		first = g
	}
	if b, err := json.Marshal(first.Models[0]); err != nil || !strings.Contains(string(b), `"interval":{"low":`) {
		t.Errorf("%s, %v", b, err)
	}
}

// The sums behind intervals give the figures themselves.
func TestPearsonOfSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		x, y := make([]float64, n), make([]float64, n)
		var s [6]float64
		for i := range x {
			x[i], y[i] = float64(rapid.IntRange(0, 12000).Draw(t, "x")), float64(rapid.IntRange(0, 5).Draw(t, "y"))
			for k, v := range []float64{1, x[i], x[i] * x[i], y[i], y[i] * y[i], x[i] * y[i]} {
				s[k] += v
			}
		}
		want, got := pearson(x, y), pearsonOfSums(s[0], s[1], s[2], s[3], s[4], s[5])
		if math.IsNaN(want) != math.IsNaN(got) && n > 2 && !math.IsNaN(want) && s[2]*s[0]-s[1]*s[1] > 1e-6*s[2]*s[0] {
			t.Fatalf("%v, want %v", got, want)
		}
		if !math.IsNaN(want) && !math.IsNaN(got) && math.Abs(want-got) > 1e-6 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The whole report: models by class and density, every figure with an interval.
func TestSummariseConStory(t *testing.T) {
	run := func(judge, model string, errors int) JudgedRun {
		r := JudgedRun{Judge: judge, CheckRun: CheckRun{Name: model}}
		for i := range 30 {
			rec := plainRecord(fmt.Sprint(i), 4000+100*i, (errors+i)%3)
			rec.Counts[Instances][7] = int32(i % 2)
			rec.Counts[SubtypeFlags][7] = int32(i % 2)
			rec.TaskType = schemas.TaskTypes[i%4]
			rec.Positions = []FindingPosition{{Subtype: 0, RefFact: float64(i), RefContra: 50, Earlier: float64(i), Later: 60}}
			r.Records = append(r.Records, rec)
		}
		return r
	}
	o := ConStoryOptions{Resampling: &Resampling{N: 100, Seed: 1}, Models: []ModelInfo{{"open one", "open", ""}, {"closed one", "closed", "F"}}}
	sum, err := SummariseConStory([]JudgedRun{run("j2", "x", 0), run("j1", "unlisted", 0), run("j1", "open one", 1), run("j1", "closed one", 2)}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Judges) != 2 || sum.Judges[0].Judge != "j1" || len(sum.Warnings) != 1 {
		t.Fatalf("%d judges, %q", len(sum.Judges), sum.Warnings)
	}
	j := sum.Judges[0]
	if j.Models[0].Name != "closed one" || j.Models[1].Name != "open one" || j.Models[2].Name != "unlisted" || j.Models[0].Family != "F" {
		t.Errorf("order of models: %s, %s, %s", j.Models[0].Name, j.Models[1].Name, j.Models[2].Name)
	}
	m := j.Models[0]
	within := func(name string, v Number, iv *Interval) {
		t.Helper()
		if iv == nil || !(iv.Low <= float64(v) && float64(v) <= iv.High && iv.Low < iv.High) {
			t.Errorf("%s: %v in %+v", name, float64(v), iv)
		}
	}
	within("CED", m.Reference().Overall.Mean, m.Reference().Overall.MeanInterval)
	within("pooled", m.Of(SubtypeFlags, RowsJudged).ByCategory[0].Pooled, m.Of(SubtypeFlags, RowsJudged).ByCategory[0].PooledInterval)
	within("r", m.Length.FlagsPerStory, m.Length.FlagsInterval)
	within("fact", m.Positions.Seven[0].Fact, m.Positions.Seven[0].FactInterval)
	within("later", m.Positions.Located[0].Gap, m.Positions.Located[0].GapInterval)
	within("correlation", m.Correlation.BinaryAll[1][0], m.Correlation.BinaryIntervals[0][1])
	within("GRR", j.Ranks[0].Models[0].GRR, j.Ranks[0].Models[0].Interval)
	if len(j.Ranks) != 3 || !j.Ranks[2].Strict || m.Tokens != nil || len(m.Tasks) != 4 {
		t.Errorf("%+v", j.Ranks)
	}
	if _, err := json.Marshal(sum); err != nil {
		t.Error(err)
	}
	if _, err := SummariseConStory([]JudgedRun{run("j", "x", 0), run("j", "x", 0)}, o); err == nil {
		t.Error("two runs of one model by one judge are taken")
	}
}

func TestGRRRefuses(t *testing.T) {
	twice := []CheckRun{{"A", []CheckRecord{plainRecord("p1", 10, 0), plainRecord("p1", 20, 0)}}}
	if _, err := GRR(twice, GRROptions{}); err == nil || !strings.Contains(err.Error(), "p1 twice") {
		t.Errorf("a prompt twice: %v", err)
	}
	// A single model has no rank, which is not a rank of 0.
	g, err := GRR([]CheckRun{{"A", []CheckRecord{plainRecord("p1", 10, 0)}}}, GRROptions{})
	if err != nil || g.Models[0].GRR.Defined() || g.Models[0].Score.Defined() {
		t.Errorf("one model: %+v, %v", g, err)
	}
	if b, err := json.Marshal(g); err != nil || !strings.Contains(string(b), `"grr":null`) {
		t.Errorf("JSON %s, %v", b, err)
	}
}

// csvFile is a CSV of the reference with the given story column and one cell
// in the first subtype of each category but the last, which has "[]".
func csvFile(storyColumn, status, story, cell string) string {
	var b strings.Builder
	b.WriteString("\ufeffid,task_type,model_name," + storyColumn + ",evaluation_status")
	cols := SubtypeColumns()
	for _, c := range cols {
		b.WriteString("," + c)
	}
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	fmt.Fprintf(&b, "\n7,generation,m,%s,%s", quote(story), status)
	for i := range cols {
		if i == 0 {
			b.WriteString("," + quote(cell))
		} else {
			b.WriteString(",[]")
		}
	}
	return b.String() + "\n"
}

func readOne(t *testing.T, file string) CheckRecord {
	t.Helper()
	run, err := MeasureRows("x", ReadCheckCSV(strings.NewReader(file), CheckCSV{}), MeasureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Records) != 1 {
		t.Fatalf("%d records", len(run.Records))
	}
	return run.Records[0]
}

// Statuses never become zero: what cannot be read is not complete.
func TestCheckCells(t *testing.T) {
	const story = "Ann was born in May.\n\nShe was born in \"June\"."
	for _, c := range []struct {
		name, state, cell string
		status            string
		flags, inst, loc  int
		complete          bool
	}{
		{"clean", "completed", "[]", StatusOK, 0, 0, 0, true},
		{"finding", "completed", `[{"exact_quote":"born in May","contradiction_pair":"She was born"}]`, StatusOK, 1, 1, 1, true},
		{"paper's key", "completed", `[{"fact_quote":"born in May","contradiction_pair":null}]`, StatusOK, 1, 1, 1, true},
		{"two, one nowhere", "completed", `[{"exact_quote":"born in May","contradiction_pair":null},{"exact_quote":"a green dragon slept","contradiction_pair":null}]`, StatusOK, 1, 2, 1, true},
		{"no quote key", "completed", `[{"location":"x"}]`, StatusOK, 0, 1, 0, true},
		{"pieces", "completed", `[{"exact_quote":["Ann was born in May","She was born"],"contradiction_pair":null}]`, StatusOK, 1, 1, 1, true},
		{"bare object", "completed", `{"exact_quote":"born in May"}`, StatusRepaired, 1, 1, 0, true},
		{"error", "partial_4_5", "ERROR: HTTP 429", StatusAPIError, 0, 0, 0, false},
		{"error in a completed row", "completed", "ERROR: HTTP 429", StatusAPIError, 0, 0, 0, false},
		{"not JSON", "completed", `[{"exact_quote": "born`, StatusParseFailed, 1, 0, 0, false},
		{"empty", "completed", "", StatusParseFailed, 0, 0, 0, false},
		{"null", "completed", "null", StatusParseFailed, 0, 0, 0, false},
		{"crashed", "error: too many values", "", StatusAPIError, 0, 0, 0, false},
		{"crashed, cells clean", "error: too many values", "[]", StatusAPIError, 0, 0, 0, false},
	} {
		r := readOne(t, csvFile("generated_story", c.state, story, c.cell))
		if r.Status[0] != c.status || r.Complete() != c.complete {
			t.Errorf("%s: status %q complete %v, want %q %v", c.name, r.Status[0], r.Complete(), c.status, c.complete)
		}
		if f, i, l := r.Counts[SubtypeFlags].Total(), r.Counts[Instances].Total(), r.Counts[EvidenceLocated].Total(); f != c.flags || i != c.inst || l != c.loc {
			t.Errorf("%s: %d flags, %d instances, %d located; want %d, %d, %d", c.name, f, i, l, c.flags, c.inst, c.loc)
		}
		if r.Words != 10 {
			t.Errorf("%s: %d words, want 10", c.name, r.Words)
		}
		// The reference's rows keep the story, ours do not; both say so.
		ref, strict := CEDOf([]CheckRecord{r}, CEDOptions{}), CEDOf([]CheckRecord{r}, CEDOptions{Rows: RowsComplete})
		if ref.Stories != 1 || (len(ref.Warnings) > 0) == c.complete {
			t.Errorf("%s: reference over %d stories, warnings %q", c.name, ref.Stories, ref.Warnings)
		}
		if strict.Overall.Mean.Defined() != c.complete {
			t.Errorf("%s: strict mean %v", c.name, strict.Overall.Mean)
		}
	}
}

func TestCheckCSVColumns(t *testing.T) {
	for _, name := range []string{"generated_story", "story", "text", "response", "my_story_v2"} {
		if r := readOne(t, csvFile(name, "completed", "One two.", "[]")); r.Words != 2 || r.Model != "m" || r.TaskType != "generation" {
			t.Errorf("story column %q: %+v", name, r)
		}
	}
	if r := readOne(t, csvFile("generated_story", "completed", "", "[]")); r.HasText || r.Complete() {
		t.Errorf("a null story is a story: %+v", r)
	}
	for _, c := range []struct{ file, want string }{
		{"", "empty"},
		{csvFile("zzz", "completed", "x", "[]"), "which column is the story"},
		{"id,generated_story\n1,x\n", "is it a file of stories?"},
		{"id,id,generated_story\n1,1,x\n", "twice"},
		{strings.TrimSuffix(csvFile("story", "completed", "x", "[]"), "[]\n"), "judge's table"},
		{csvFile("story", "completed", "x", "[]") + "1,2\n", "wrong number of fields"},
	} {
		_, err := MeasureRows("x", ReadCheckCSV(strings.NewReader(c.file), CheckCSV{}), MeasureOptions{})
		if c.want == "judge's table" { // a last cell that is empty is a failed cell, not an error
			if err != nil {
				t.Errorf("empty last cell: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want %q", c.file, err, c.want)
		}
	}
}

// One finding once: the same two passages under two subtypes, in either order.
func TestDistinctFindings(t *testing.T) {
	const story = "Ann was born in May of the cold year. Bob sold the red house. Ann was born in June of the warm year. Bob never had a house."
	find := func(a, b string) string {
		return fmt.Sprintf(`[{"exact_quote":%q,"contradiction_pair":%q}]`, a, b)
	}
	row := NewCheckRow("s", func(n string) (string, bool) {
		switch n {
		case "s":
			return story, true
		case "timeline_plot_absolute_time_contradictions":
			return find("Ann was born in May", "Ann was born in June"), true
		case "timeline_plot_duration_contradictions": // the reference's own prompt, which its reader loses
			return find("Ann was born in June of the warm year.", "born in May of the cold year"), true
		case "factual_detail_appearance_mismatches":
			return find("Bob sold the red house", "Bob never had a house"), true
		case "factual_detail_nomenclature_confusions":
			return find("no such words here", "nor any such there"), true
		case "factual_detail_quantitative_mismatches":
			return find("No such  words here", "nor any such there"), true
		}
		return "[]", strings.Contains(n, "_")
	})
	r := Measure(row, MeasureOptions{})
	for d, want := range map[ErrorDef]int{SubtypeFlags: 5, Instances: 5, EvidenceLocated: 3, Distinct: 3, DistinctLocated: 2} {
		if got := r.Counts[d].Total(); got != want {
			t.Errorf("%v = %d, want %d", d, got, want)
		}
	}
	// The second is the first turned around.
	if p := r.Positions[1]; !p.Reversed || p.Earlier != 100*8/float64(len(story)) {
		t.Errorf("position %+v", p)
	}
}

func TestJudgedRows(t *testing.T) {
	a, b := plainRecord("a", 10000, 1), plainRecord("b", 20000, 0)
	b.Status[0] = StatusRefused
	rs := []CheckRecord{a, b}
	ref, ours := CEDOf(rs, CEDOptions{}), CEDOf(rs, CEDOptions{Rows: RowsJudged})
	if ref.Overall.Mean != 0.5 || ours.Overall.Mean != 1 || ours.Stories != 1 {
		t.Errorf("means %v and %v", ref.Overall.Mean, ours.Overall.Mean)
	}
	// The refused category is over one story, the others over both.
	if ours.ByCategory[0].Stories != 1 || ours.ByCategory[1].Stories != 2 {
		t.Errorf("categories over %d and %d stories", ours.ByCategory[0].Stories, ours.ByCategory[1].Stories)
	}
	if v := CoverageOf(rs); v.Complete != 1 || v.Partial != 1 || v.Cells[schemas.Categories[0].Name][StatusRefused] != 1 {
		t.Errorf("coverage %+v", v)
	}
}

// The same story by the two word counts, each named in the figure.
func TestWordCounts(t *testing.T) {
	r := readOne(t, csvFile("story", "completed", "他走进房间，关上了门。", `[{"exact_quote":"关上了门","contradiction_pair":null}]`))
	for w, want := range map[WordCount]float64{WordsReference: 10000, WordsByCharacter: 10000. / 11} {
		c := CEDOf([]CheckRecord{r}, CEDOptions{Words: w})
		if math.Abs(float64(c.Overall.Mean)-want) > 1e-9 || math.Abs(r.Quality(w, Instances)*2e4-1e8/want) > 1e-6*1e8/want {
			t.Errorf("%v: CED %v, Q %v", w, float64(c.Overall.Mean), r.Quality(w, Instances))
		}
		if b, err := json.Marshal(c); err != nil || !strings.Contains(string(b), `"words_as":"`+w.String()+`"`) {
			t.Errorf("%v: %v, the figure does not name its words: %.200s", w, err, b)
		}
	}
	if b, err := json.Marshal(CEDOf(nil, CEDOptions{})); err != nil || !strings.Contains(string(b), `"mean_of_stories":null`) {
		t.Errorf("nothing to divide by: %.300s, %v", b, err)
	}
}

// Shorter and longer stories: r over bins differs from r per story.
func TestLengthHand(t *testing.T) {
	rs := []CheckRecord{plainRecord("a", 500, 0), plainRecord("b", 1000, 2), plainRecord("c", 1500, 0), plainRecord("d", 2500, 3)}
	a := LengthOf(rs, RowsWithText, WordsReference)
	// Per story: deviations of words -875 -375 125 1125, of errors -1.25 0.75
	// -1.25 1.75, so r = 2625 / sqrt(2187500 * 6.75). Bins: (500, 0),
	// (1250, 1), (2500, 3), so r = 3083.33 / sqrt(2041666.67 * 4.6667).
	if math.Abs(float64(a.FlagsPerStory)-0.683130) > 1e-6 || a.Bins != 3 || math.Abs(float64(a.FlagsOverBins)-0.998906) > 1e-6 {
		t.Errorf("per story %.6f, over %d bins %.6f", float64(a.FlagsPerStory), a.Bins, float64(a.FlagsOverBins))
	}
	if b := a.TableB2[1]; b.Stories != 3 || math.Abs(float64(b.Flags)-5./3) > 1e-12 || a.TableB2[0].Stories != 1 {
		t.Errorf("the story of 1,000 words is in the wrong bucket: %+v", a.TableB2)
	}
	if g := a.Thousands[2].Growth; g != 3 {
		t.Errorf("growth %v, want 3", g)
	}
}

func TestCEDIntervals(t *testing.T) {
	var rs []CheckRecord
	for i := range 50 {
		rs = append(rs, plainRecord(fmt.Sprint(i), 5000, i%3))
	}
	one := CEDOf(rs, CEDOptions{Resampling: &Resampling{N: 500, Seed: 1, Workers: 1}})
	two := CEDOf(rs, CEDOptions{Resampling: &Resampling{N: 500, Seed: 1, Workers: 2}})
	iv := one.Overall.MeanInterval
	if iv == nil || iv.Low >= float64(one.Overall.Mean) || iv.High <= float64(one.Overall.Mean) || *iv != *two.Overall.MeanInterval {
		t.Errorf("intervals %+v and %+v around %v", iv, two.Overall.MeanInterval, one.Overall.Mean)
	}
	if b, err := json.Marshal(one.Overall); err != nil || !strings.Contains(string(b), `"mean_interval":{"low":`) || !strings.Contains(string(b), `"mean_of_stories":1.96`) {
		t.Errorf("JSON %s, %v", b, err)
	}
}

// Of a single story every draw is that story, so that intervals must be the
// figures themselves, whatever was judged of it.
func TestCEDIntervalsOfOne(t *testing.T) {
	full := plainRecord("a", 5000, 2)
	full.Counts[SubtypeFlags][9] = 3
	part := full
	part.Status[1] = StatusRefused
	for name, r := range map[string]CheckRecord{"complete": full, "in part": part} {
		for _, rows := range []RowSet{RowsWithText, RowsComplete, RowsJudged} {
			c := CEDOf([]CheckRecord{r}, CEDOptions{Rows: rows, Resampling: &Resampling{N: 5}})
			for _, d := range append(append([]Density{c.Overall}, c.ByCategory...), c.BySubtype...) {
				for _, v := range []struct {
					got  *Interval
					want Number
				}{{d.MeanInterval, d.Mean}, {d.PooledInterval, d.Pooled}} {
					switch {
					case !v.want.Defined() && (v.got == nil || math.IsNaN(v.got.Low)):
					case v.got == nil || math.Abs(v.got.Low-float64(v.want)) > 1e-9 || v.got.Low != v.got.High:
						t.Errorf("%s, %v, %s: %+v, want %v", name, rows, d.Name, v.got, float64(v.want))
					}
				}
			}
		}
	}
}

// Our own findings: anchored already, one instance for several subtypes, and a
// category without a status is not judged.
func TestCheckRowOf(t *testing.T) {
	story := "Anna – born in May. Later: born in June."
	g := schemas.Generated{ID: 3, ModelName: "m", GeneratedStory: &story}
	at := func(i, j int) schemas.Evidence {
		return schemas.Evidence{Quote: "q", Spans: []schemas.Span{{Offsets: schemas.Offsets{Start: i, End: j}}}}
	}
	findings := []schemas.Finding{
		{Subtype: "absolute_time_contradictions", Also: []string{"duration_contradictions", "memory_contradictions"}, Fact: at(7, 18), Contra: at(27, 39), Status: "anchored"},
		{Subtype: "tone_inconsistencies", Fact: schemas.Evidence{Quote: "nowhere"}, Contra: at(0, 4), Status: "unanchored"},
	}
	var status []schemas.CheckStatus
	for _, c := range schemas.Categories {
		status = append(status, schemas.CheckStatus{Category: c.Name, Status: StatusOK})
	}
	row, err := CheckRowOf(g, findings, status)
	if err != nil {
		t.Fatal(err)
	}
	r := Measure(row, MeasureOptions{})
	for d, want := range map[ErrorDef]int{SubtypeFlags: 4, Instances: 2, QuoteLocated: 1, EvidenceLocated: 1, FlagsLocated: 1, Distinct: 2, DistinctLocated: 1} {
		if got := r.Counts[d].Total(); got != want {
			t.Errorf("%v = %d, want %d", d, got, want)
		}
	}
	// 40 code points, of which a dash has three bytes.
	if p := r.Positions[0]; p.Earlier != 17.5 || p.Later != 67.5 {
		t.Errorf("position %+v", p)
	}
	if !r.Complete() {
		t.Errorf("not complete: %v", r.Status)
	}
	row, _ = CheckRowOf(g, findings, status[1:])
	if r := Measure(row, MeasureOptions{}); r.Complete() || len(r.Failed()) != 1 {
		t.Errorf("a category without a status is judged: %v", r.Status)
	}
	findings[0].Subtype = "typos"
	if _, err := CheckRowOf(g, findings, status); err == nil || !strings.Contains(err.Error(), `"typos"`) {
		t.Errorf("an unknown subtype: %v", err)
	}
}

func TestCheckJSONL(t *testing.T) {
	stories := `{"id": 1, "task_type": "expansion", "generated_story": "She is tall. She is short."}` + "\n\n" + `{"id": 2, "generated_story": null}` + "\n"
	set, err := OpenStorySet(strings.NewReader(stories), int64(len(stories)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(run string) (CheckRun, error) {
		return MeasureRows("x", ReadCheckJSONL(strings.NewReader(run), set.Story), MeasureOptions{Workers: 2})
	}
	run, err := read(`{"id": 1, "evaluation_status": "completed", "cells": {"factual_detail_appearance_mismatches": "[{\"exact_quote\": \"She is tall\", \"contradiction_pair\": \"She is short\"}]"}}
{"id": "2", "evaluation_status": "completed", "cells": {}}`)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := run.Records[0], run.Records[1]; a.Counts[EvidenceLocated].Total() != 1 || a.TaskType != "expansion" || !a.Complete() || b.HasText || b.Complete() {
		t.Errorf("%+v", run.Records)
	}
	for run, want := range map[string]string{
		`{"id": 9, "cells": {}}`:                                 "story 9 is not in the story set",
		`{"id": 1, "cells": {"typos": "[]"}}`:                    "none of the 19",
		`{"id": 1, "cells": {}}` + "\n" + `{"id": 1, "cells": [`: "line 2",
	} {
		if _, err := read(run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", run, err, want)
		}
	}
	twice := `{"id": 1}` + "\n" + `{"id": 1}`
	if _, err := OpenStorySet(strings.NewReader(twice), int64(len(twice))); err == nil || !strings.Contains(err.Error(), "second time") {
		t.Errorf("an id twice: %v", err)
	}
}

// Whatever a cell holds, it is read as a status, and a failed one has no
// findings.
func FuzzCheckCell(f *testing.F) {
	for _, s := range []string{"", "[]", "null", "ERROR: HTTP 400", `[{"exact_quote":"a","contradiction_pair":null}]`, `[["a"],1,null,{"fact_quote":[{"quote":"x"}]}]`, `{"exact_quote":1}`, `[{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := checkCell(s, true, "")
		if c.Status == "" || !judged(c.Status) && (len(c.Findings) > 0 || c.Status != StatusAPIError && c.Detail == "") {
			t.Errorf("%q: %+v", s, c)
		}
		if judged(c.Status) && !json.Valid([]byte(s)) {
			t.Errorf("%q is not JSON and is judged", s)
		}
	})
}

// rowsFile is a CSV of n judged stories, made as it is read.
type rowsFile struct {
	row  string
	left int
	buf  string
}

func (r *rowsFile) Read(p []byte) (int, error) {
	if r.buf == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.buf = r.row
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// BenchmarkCheckRun10k reads, measures and scores 10,000 stories of 9,000
// words with two findings each. MB-heap is what is alive at the end.
func BenchmarkCheckRun10k(b *testing.B) {
	var s strings.Builder
	for i := range 900 {
		fmt.Fprintf(&s, "On day %d she met the old man again and ", i)
	}
	file := csvFile("generated_story", "completed", s.String(), `[{"exact_quote":"On day 10 she met","contradiction_pair":"on day 800, she met the old man"},{"exact_quote":"On day 300 she met","contradiction_pair":null}]`)
	head, row, _ := strings.Cut(file, "\n")
	for b.Loop() {
		run, err := MeasureRows("x", ReadCheckCSV(&rowsFile{row: row, left: 10000, buf: head + "\n"}, CheckCSV{}), MeasureOptions{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		if c := CEDOf(run.Records, CEDOptions{}); c.Stories != 10000 {
			b.Fatal(c.Stories)
		}
		LengthOf(run.Records, RowsWithText, WordsReference)
		CorrelateCategories(run.Records)
		PositionsOf(run.Records)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-heap")
		runtime.KeepAlive(run)
	}
}

// TestCheckUTF8 reads runs and stories that are not UTF-8: JSON would have a mark
// in place of what was there, and nobody would find the quote again.
func TestCheckUTF8(t *testing.T) {
	run := `{"id":1,"evaluation_status":"completed","judge_model":"j","cells":{}}` + "\n"
	table := "id,generated_story,timeline_plot_absolute_time_contradictions\n1,Once.,[]\n"
	story := `{"id":1,"generated_story":"Once."}` + "\n"
	none := func(string) (CheckStory, bool, error) { return CheckStory{}, true, nil }
	last := func(rows iter.Seq2[CheckRow, error]) (err error) {
		for _, err = range rows {
		}
		return err
	}
	stories := func(s string) error {
		_, err := OpenStorySet(strings.NewReader(s), int64(len(s)))
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{last(ReadCheckJSONL(strings.NewReader(run), none)), ""},
		{last(ReadCheckJSONL(strings.NewReader(run+strings.Replace(run, "j", "\xff", 1)), none)), "line 2: not UTF-8"},
		{last(ReadCheckCSV(strings.NewReader(table), CheckCSV{})), ""},
		{last(ReadCheckCSV(strings.NewReader(strings.ReplaceAll(table, "\n", "\r")), CheckCSV{})), "its lines end in a CR alone, as those of old Macs: save it as CSV (UTF-8)"},
		{last(ReadCheckCSV(strings.NewReader(table+"2,M\xe4dchen,[]\n"), CheckCSV{})), "line 3, column generated_story: not UTF-8"},
		{last(ReadCheckCSV(strings.NewReader("\xff\xfe"+table), CheckCSV{})), "header of the judge's table: not UTF-8"},
		{stories(story), ""},
		{stories(story + strings.Replace(story, "O", "\xd6", 1)), "line 2: not UTF-8"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.HasSuffix(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}
