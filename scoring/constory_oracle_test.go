// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/internal/text/texttest"
	"github.com/retcon-bench/retcon/schemas"
)

// The values of oracles/constory come from the reference's code run on real
// answers; its README says how each was computed. The order of its figures'
// categories is not that of schemas.Categories.
var oracleOrder = []string{"timeline_plot", "characterization", "factual_detail", "narrative_style", "world_building"}

func readOracle(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(texttest.Oracle(t), name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// oracleLines decodes a JSONL file.
func oracleLines[T any](t testing.TB, name string) (out []T) {
	t.Helper()
	texttest.EachLine(t, filepath.Join(texttest.Oracle(t), name), func(v T) { out = append(out, v) })
	return out
}

type oracleAnchor struct {
	Run, Col, Field, Cls string
	ID, K                int
	Spans                [][2]int
}

// givenSpans locates with the oracle's own spans, so that what follows from them
// must be equal.
type givenSpans struct {
	id      string
	anchors map[string]oracleAnchor
}

func (g givenSpans) Locate(column string, k int, pair bool, q *Quoted) {
	field := "exact_quote"
	if pair {
		field = "contradiction_pair"
	}
	a, ok := g.anchors[fmt.Sprintf("%s %s %d %s", g.id, column, k, field)]
	if !ok {
		return
	}
	switch {
	case strings.HasPrefix(a.Cls, "x_"):
		q.Copied = true
	case strings.HasPrefix(a.Cls, "d_"), strings.HasPrefix(a.Cls, "c3"), a.Cls == "c0_elided_some_segments", len(a.Spans) == 0:
		// Not evidence; the oracle's counts leave the c0 of which a piece is
		// missing out too.
	default:
		q.Located, q.Start, q.End = true, a.Spans[0][0], a.Spans[0][1]
	}
}

// oracleRuns measures every run, with the oracle's spans (ours false) or with
// our anchoring.
func oracleRuns(t testing.TB, ours bool) map[string]CheckRun {
	t.Helper()
	dir := texttest.Oracle(t)
	byRun := map[string]map[string]oracleAnchor{}
	for _, a := range oracleLines[oracleAnchor](t, "anchors.jsonl") {
		if byRun[a.Run] == nil {
			byRun[a.Run] = map[string]oracleAnchor{}
		}
		byRun[a.Run][fmt.Sprintf("%d %s %d %s", a.ID, a.Col, a.K, a.Field)] = a
	}
	var ced map[string]struct {
		Set string `json:"story_set"`
	}
	readOracle(t, "ced.json", &ced)
	o := MeasureOptions{Workers: 2}
	if ours {
		var prompts any
		readOracle(t, "prompt_examples.json", &prompts)
		o.Echoes = text.NewEchoes(allStrings(prompts))
	}
	runs := map[string]CheckRun{}
	for name, c := range ced {
		b, err := os.ReadFile(filepath.Join(dir, "data", "stories", c.Set+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		set, err := OpenStorySet(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, "data", "judge", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if !ours {
			o.Locator = func(row *CheckRow) Locator { return givenSpans{row.ID, byRun[name]} }
		}
		run, err := MeasureRows(name, ReadCheckJSONL(f, set.Story), o)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		runs[name] = run
	}
	if len(runs) == 0 {
		t.Fatal("no runs in ced.json")
	}
	return runs
}

func allStrings(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, allStrings(e)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, allStrings(v[k])...)
		}
	}
	return out
}

// ledger compares figures and keeps the table of differences.
type ledger struct {
	t       *testing.T
	n       int
	largest map[string]float64
	counts  map[string]int
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t, 0, map[string]float64{}, map[string]int{}}
}

// equal compares a figure with the oracle's (nil: undefined). what is printed
// on failure, table groups the differences.
func (l *ledger) equal(table, what string, got Number, want *float64, tol float64) {
	l.t.Helper()
	l.n++
	l.counts[table]++
	if want == nil || !got.Defined() {
		if want != nil || got.Defined() {
			l.t.Errorf("%s: %s = %v, want %v", table, what, got, str(want))
		}
		return
	}
	d := math.Abs(float64(got) - *want)
	l.largest[table] = max(l.largest[table], d)
	if d > tol {
		l.t.Errorf("%s: %s = %.12f, want %.12f (off by %g)", table, what, float64(got), *want, d)
	}
}

func str(p *float64) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

func (l *ledger) print() {
	l.t.Logf("%-52s %7s %12s", "table", "values", "largest diff")
	for _, k := range slices.Sorted(maps.Keys(l.counts)) {
		l.t.Logf("%-52s %7d %12.3g", k, l.counts[k], l.largest[k])
	}
	l.t.Logf("%-52s %7d", "all", l.n)
	if l.n == 0 {
		l.t.Error("nothing compared")
	}
}

type oracleDensity struct {
	Mean     *float64 `json:"mean_of_stories"`
	Median   *float64 `json:"median"`
	SD       *float64 `json:"std_population"`
	SampleSD *float64 `json:"std_sample"`
	Pooled   *float64 `json:"pooled"`
	Errors   *float64 `json:"errors"`
	PerStory *float64 `json:"errors_per_story"`
}

type oracleDef struct {
	Overall    oracleDensity            `json:"overall"`
	ByCategory map[string]oracleDensity `json:"by_category"`
	BySubtype  map[string]oracleDensity `json:"by_subtype"`
}

type oracleCED struct {
	Rows     int
	Statuses map[string]int `json:"status_counts"`
	Official struct {
		Mean     *float64            `json:"avg_density"`
		Median   *float64            `json:"median_density"`
		SD       *float64            `json:"std_density"`
		AvgWords *float64            `json:"avg_words"`
		Errors   *float64            `json:"avg_errors"`
		Stories  *float64            `json:"total_stories"`
		Category map[string]*float64 `json:"category_densities"`
	}
	All       map[string]json.RawMessage `json:"all_rows_with_text"`
	Completed map[string]json.RawMessage `json:"completed_rows_only"`
}

func TestOracleCED(t *testing.T) {
	runs := oracleRuns(t, false)
	var want map[string]oracleCED
	readOracle(t, "ced.json", &want)
	l := newLedger(t)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, run := want[name], runs[name]
		if len(run.Records) != w.Rows {
			t.Errorf("%s: %d rows, want %d", name, len(run.Records), w.Rows)
		}
		states := map[string]int{}
		for _, r := range run.Records {
			states[r.State]++
		}
		if !maps.Equal(states, w.Statuses) {
			t.Errorf("%s: statuses %v, want %v", name, states, w.Statuses)
		}
		c := CEDOf(run.Records, CEDOptions{})
		eq := func(what string, got Number, want *float64) {
			t.Helper()
			l.equal("ced official", name+" "+what, got, want, 1e-9)
		}
		eq("mean", c.Overall.Mean, w.Official.Mean)
		eq("median", c.Overall.Median, w.Official.Median)
		eq("sd", c.Overall.SD, w.Official.SD)
		eq("avg words", c.AvgWords, w.Official.AvgWords)
		eq("avg errors", c.Overall.PerStory, w.Official.Errors)
		eq("stories", Number(c.Stories), w.Official.Stories)
		for _, d := range c.ByCategory {
			eq(d.Name, d.Pooled, w.Official.Category[d.Name])
		}
		for rows, oracle := range map[RowSet]map[string]json.RawMessage{RowsWithText: w.All, RowsComplete: w.Completed} {
			var stories int
			if err := json.Unmarshal(oracle["stories"], &stories); err != nil {
				t.Fatal(err)
			}
			for d := SubtypeFlags; d <= FlagsLocated; d++ {
				c := CEDOf(run.Records, CEDOptions{Errors: d, Rows: rows})
				if c.Stories != stories {
					t.Errorf("%s %v: %d stories, want %d", name, rows, c.Stories, stories)
				}
				if stories == 0 {
					continue // the oracle has no more than that
				}
				var o oracleDef
				if err := json.Unmarshal(oracle[d.String()], &o); err != nil {
					t.Fatalf("%s %v: %v", name, d, err)
				}
				compareCED(l, fmt.Sprintf("ced %v %v", rows, d), name, c, o)
			}
		}
	}
	l.print()
}

func compareCED(l *ledger, table, name string, c CED, o oracleDef) {
	l.t.Helper()
	one := func(d Density, w oracleDensity, whole bool) {
		l.t.Helper()
		eq := func(what string, got Number, want *float64) {
			l.t.Helper()
			l.equal(table, name+" "+d.Name+" "+what, got, want, 1e-9)
		}
		eq("mean", d.Mean, w.Mean)
		eq("pooled", d.Pooled, w.Pooled)
		eq("errors", Number(d.Errors), w.Errors)
		if whole {
			eq("median", d.Median, w.Median)
			eq("population sd", d.SD, w.SD)
			eq("sample sd", d.SampleSD, w.SampleSD)
			eq("per story", d.PerStory, w.PerStory)
		}
	}
	one(c.Overall, o.Overall, true)
	if len(o.ByCategory) != len(c.ByCategory) || len(o.BySubtype) != len(c.BySubtype) {
		l.t.Errorf("%s %s: other categories or subtypes", table, name)
	}
	for _, d := range c.ByCategory {
		one(d, o.ByCategory[d.Name], false)
	}
	for _, d := range c.BySubtype {
		one(d, o.BySubtype[d.Name], false)
	}
}

type oracleStory struct {
	Run       string
	ID        int
	Words     int
	Status    string
	Failed    []string `json:"failed_categories"`
	Flags     map[string]int
	Instances map[string]int
	Located   map[string]int
	EFlags    int      `json:"e_flags"`
	EInst     int      `json:"e_instances"`
	CEDFlags  *float64 `json:"ced_flags"`
	CEDInst   *float64 `json:"ced_instances"`
	Q         *float64
}

func TestOracleStories(t *testing.T) {
	runs := oracleRuns(t, false)
	stories := oracleLines[oracleStory](t, "ced_per_story.jsonl")
	l := newLedger(t)
	at := map[string]int{}
	for _, w := range stories {
		r := &runs[w.Run].Records[at[w.Run]]
		at[w.Run]++
		where := fmt.Sprintf("%s story %d", w.Run, w.ID)
		if r.ID != fmt.Sprint(w.ID) || r.Words != w.Words || r.State != w.Status {
			t.Errorf("%s: got %s, %d words, %q; want %d words, %q", where, r.ID, r.Words, r.State, w.Words, w.Status)
		}
		// The oracle reads the failed categories off ERROR cells; a crashed
		// row has none, and we say that none of its categories was judged.
		failed := r.Failed()
		slices.Sort(failed)
		if crashed := strings.HasPrefix(w.Status, "error"); crashed && len(failed) != CheckCategories || !crashed && !slices.Equal(failed, w.Failed) {
			t.Errorf("%s: failed %v, want %v", where, failed, w.Failed)
		}
		for d, m := range map[ErrorDef]map[string]int{SubtypeFlags: w.Flags, Instances: w.Instances, EvidenceLocated: w.Located} {
			for i, n := range r.Counts[d] {
				v := float64(m[subtypes[i].column])
				l.equal("per story "+d.String(), where+" "+subtypes[i].column, Number(n), &v, 0)
			}
		}
		ef, ei := float64(w.EFlags), float64(w.EInst)
		l.equal("per story totals", where, Number(r.Counts[SubtypeFlags].Total()), &ef, 0)
		l.equal("per story totals", where, Number(r.Counts[Instances].Total()), &ei, 0)
		l.equal("per story density", where+" flags", Number(r.Density(WordsReference, SubtypeFlags)), w.CEDFlags, 1e-9)
		l.equal("per story density", where+" instances", Number(r.Density(WordsReference, Instances)), w.CEDInst, 1e-9)
		l.equal("per story Q", where, Number(r.Quality(WordsReference, SubtypeFlags)), w.Q, 1e-9)
	}
	for name, run := range runs {
		if at[name] != len(run.Records) {
			t.Errorf("%s: %d of %d stories compared", name, at[name], len(run.Records))
		}
	}
	l.print()
}

type oracleBucket struct {
	Lo        int
	Hi        *int
	Stories   int
	Share     *float64
	Flags     *float64 `json:"mean_subtype_flags"`
	Instances *float64 `json:"mean_instances"`
	AvgWords  *float64 `json:"avg_words"`
}

func TestOracleLength(t *testing.T) {
	runs := oracleRuns(t, false)
	var want map[string]struct {
		Stories   int
		Min       int            `json:"min_words"`
		Max       int            `json:"max_words"`
		AvgWords  *float64       `json:"avg_words"`
		TableB2   []oracleBucket `json:"table_B2_buckets"`
		Figure3   []oracleBucket `json:"figure_3_buckets"`
		Thousands []oracleBucket `json:"thousand_word_buckets"`
		Flags     *float64       `json:"pearson_words_vs_subtype_flags"`
		Instances *float64       `json:"pearson_words_vs_instances"`
	}
	readOracle(t, "length.json", &want)
	l := newLedger(t)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, a := want[name], LengthOf(runs[name].Records, RowsWithText, WordsReference)
		if a.Stories != w.Stories || a.MinWords != w.Min || a.MaxWords != w.Max {
			t.Errorf("%s: %d stories of %d to %d words, want %d of %d to %d", name, a.Stories, a.MinWords, a.MaxWords, w.Stories, w.Min, w.Max)
		}
		l.equal("length", name+" words", a.AvgWords, w.AvgWords, 1e-9)
		l.equal("length Pearson", name+" flags", a.FlagsPerStory, w.Flags, 1e-9)
		l.equal("length Pearson", name+" instances", a.InstancesPerStory, w.Instances, 1e-9)
		for _, b := range []struct {
			name string
			got  []LengthBucket
			want []oracleBucket
		}{{"table B2", a.TableB2, w.TableB2}, {"figure 3", a.Figure3, w.Figure3}, {"thousands", a.Thousands, w.Thousands}} {
			if b.name == "thousands" && len(b.got) == len(b.want)+1 {
				b.got = b.got[:len(b.want)] // ours goes on: 12,000 and more
			}
			if len(b.got) != len(b.want) {
				t.Errorf("%s %s: %d buckets, want %d", name, b.name, len(b.got), len(b.want))
				continue
			}
			for i, g := range b.got {
				v := b.want[i]
				where := fmt.Sprintf("%s from %d", name, g.Lo)
				if g.Lo != v.Lo || (g.Hi == nil) != (v.Hi == nil) || g.Hi != nil && *g.Hi != *v.Hi || g.Stories != v.Stories {
					t.Errorf("%s %s: bucket %+v, want %+v", where, b.name, g, v)
				}
				l.equal("length "+b.name, where+" share", g.Share, v.Share, 1e-9)
				l.equal("length "+b.name, where+" flags", g.Flags, v.Flags, 1e-9)
				l.equal("length "+b.name, where+" instances", g.Instances, v.Instances, 1e-9)
				l.equal("length "+b.name, where+" words", g.AvgWords, v.AvgWords, 1e-9)
			}
		}
		t.Logf("%-36s r per story %v, over %d bins %v", name, a.FlagsPerStory, a.Bins, a.FlagsOverBins)
	}
	l.print()
}

type oracleCorrelation struct {
	Rows        int
	Some        int            `json:"rows_with_any_error"`
	Stories     map[string]int `json:"category_story_counts"`
	Conditional [][]*float64   `json:"conditional_P_col_given_row"`
	BinAll      [][]*float64   `json:"pearson_binary_all_rows"`
	BinSome     [][]*float64   `json:"pearson_binary_rows_with_any_error"`
	FlagsAll    [][]*float64   `json:"pearson_subtype_flags_all_rows"`
	FlagsSome   [][]*float64   `json:"pearson_subtype_flags_rows_with_any_error"`
	InstAll     [][]*float64   `json:"pearson_instances_all_rows"`
	InstSome    [][]*float64   `json:"pearson_instances_rows_with_any_error"`
}

func TestOracleCorrelation(t *testing.T) {
	runs := oracleRuns(t, false)
	var want map[string]struct {
		oracleCorrelation
		Scored oracleCorrelation `json:"scored_rows_only"`
	}
	readOracle(t, "correlation.json", &want)
	index := make([]int, CheckCategories)
	for i, n := range oracleOrder {
		index[i] = slices.IndexFunc(schemas.Categories, func(c schemas.Category) bool { return c.Name == n })
	}
	short := []string{"Time.", "Char.", "Fact.", "Narr.", "World"}
	l := newLedger(t)
	compare := func(name string, c CategoryCorrelation, w oracleCorrelation) {
		if c.Rows != w.Rows || c.WithAnyError != w.Some {
			t.Errorf("%s: %d rows, %d with errors; want %d, %d", name, c.Rows, c.WithAnyError, w.Rows, w.Some)
		}
		for i, s := range short {
			if w.Stories != nil && c.Stories[index[i]] != w.Stories[s] {
				t.Errorf("%s: %d stories with %s, want %d", name, c.Stories[index[i]], s, w.Stories[s])
			}
		}
		for _, m := range []struct {
			name string
			got  CategoryMatrix
			want [][]*float64
		}{
			{"P(B|A)", c.Conditional, w.Conditional},
			{"binary all", c.BinaryAll, w.BinAll}, {"binary some", c.BinaryAnyError, w.BinSome},
			{"flags all", c.FlagsAll, w.FlagsAll}, {"flags some", c.FlagsAnyError, w.FlagsSome},
			{"instances all", c.InstancesAll, w.InstAll}, {"instances some", c.InstancesAnyError, w.InstSome},
		} {
			if m.want == nil {
				t.Logf("%s: the oracle has no %s", name, m.name)
				continue
			}
			for i := range short {
				for j := range short {
					l.equal("correlation "+m.name, fmt.Sprintf("%s %s %s", name, short[i], short[j]), m.got[index[i]][index[j]], m.want[i][j], 1e-9)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		compare(name, CorrelateCategories(runs[name].Records), want[name].oracleCorrelation)
		compare(name+" scored", CorrelateScored(runs[name].Records), want[name].Scored)
	}
	l.print()
}

type oraclePosition struct {
	Total       int `json:"total_errors"`
	Extractable int
	Both        int      `json:"both_located"`
	Later       int      `json:"exact_quote_is_later"`
	Exact       *float64 `json:"avg_exact_pos"`
	Contra      *float64 `json:"avg_contra_pos"`
	EarlierPos  *float64 `json:"avg_earlier_pos"`
	LaterPos    *float64 `json:"avg_later_pos"`
	Gap         *float64 `json:"avg_gap"`
}

func TestOraclePositions(t *testing.T) {
	runs := oracleRuns(t, false)
	var want map[string]struct {
		Seven map[string]*oraclePosition `json:"official_seven_subtypes"`
		All   map[string]oraclePosition  `json:"official_locator_all_subtypes"`
		Span  map[string]oraclePosition  `json:"ordered_by_located_span"`
	}
	readOracle(t, "positional.json", &want)
	l := newLedger(t)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, p := want[name], PositionsOf(runs[name].Records)
		if len(p.Reference) != len(w.All) || len(p.Located) != len(w.Span) || w.Seven != nil && len(p.Seven) != len(w.Seven) {
			t.Errorf("%s: %d, %d and %d subtypes, want %d, %d and %d", name, len(p.Reference), len(p.Located), len(p.Seven), len(w.All), len(w.Span), len(w.Seven))
		}
		official := func(table string, r PositionRow, o oraclePosition) {
			where := name + " " + r.Subtype
			if r.Total != o.Total || r.Used != o.Extractable {
				t.Errorf("%s %s: %d of %d, want %d of %d", table, where, r.Used, r.Total, o.Extractable, o.Total)
			}
			l.equal(table, where+" fact", r.Fact, o.Exact, 1e-9)
			l.equal(table, where+" contradiction", r.Contra, o.Contra, 1e-9)
			l.equal(table, where+" gap", r.Gap, o.Gap, 1e-9)
		}
		for _, r := range p.Reference {
			official("positions, reference, all", r, w.All[r.Subtype])
		}
		for _, r := range p.Seven {
			if o := w.Seven[r.Subtype]; o != nil {
				official("positions, reference, seven", r, *o)
			} else if r.Used > 0 {
				t.Errorf("%s %s: %d used, want none", name, r.Subtype, r.Used)
			}
		}
		for _, r := range p.Located {
			o, where := w.Span[r.Subtype], name+" "+r.Subtype
			if r.Total != o.Total || r.Used != o.Both || r.Reversed != o.Later {
				t.Errorf("located %s: %d of %d, %d reversed, want %d of %d, %d", where, r.Used, r.Total, r.Reversed, o.Both, o.Total, o.Later)
			}
			l.equal("positions, located", where+" earlier", r.Fact, o.EarlierPos, 1e-9)
			l.equal("positions, located", where+" later", r.Contra, o.LaterPos, 1e-9)
			l.equal("positions, located", where+" gap", r.Gap, o.Gap, 1e-9)
		}
	}
	l.print()
}

// TestOracleOurAnchoring counts with our own anchoring: within 2 % of the
// oracle's counts, positions within half a point where the same findings are
// located.
func TestOracleOurAnchoring(t *testing.T) {
	theirs, ours := oracleRuns(t, false), oracleRuns(t, true)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		for d := QuoteLocated; d <= FlagsLocated; d++ {
			var a, b int
			for i := range ours[name].Records {
				a += ours[name].Records[i].Counts[d].Total()
				b += theirs[name].Records[i].Counts[d].Total()
			}
			n += b
			t.Logf("%-36s %-34v ours %4d oracle %4d", name, d, a, b)
			if math.Abs(float64(a-b)) > 0.02*float64(b) {
				t.Errorf("%s %v: %d, the oracle has %d", name, d, a, b)
			}
		}
		w := map[string]PositionRow{}
		for _, r := range PositionsOf(theirs[name].Records).Located {
			w[r.Subtype] = r
		}
		for _, r := range PositionsOf(ours[name].Records).Located {
			o := w[r.Subtype]
			off := max(math.Abs(float64(r.Fact-o.Fact)), math.Abs(float64(r.Contra-o.Contra)))
			if r.Used != o.Used || off > 0.01 {
				t.Logf("%-36s %-48s located %d, oracle %d; off by %.3f points", name, r.Subtype, r.Used, o.Used, off)
			}
			if r.Used == o.Used && off > 0.5 {
				t.Errorf("%s %s: off by %.3f points", name, r.Subtype, off)
			}
		}
	}
	if n == 0 {
		t.Error("nothing located")
	}
}

func TestOracleAppendixC(t *testing.T) {
	var want struct {
		Stories []struct {
			Story, Words, Errors int
			CED, Q               float64
		}
		Pooled map[string]*float64
		Mean   *float64           `json:"mean_of_stories_overall"`
		Errors map[string]int     `json:"category_errors"`
		Paper  map[string]float64 `json:"paper_printed"`
	}
	readOracle(t, "appendix_c.json", &want)
	// The example says which categories the errors have, not which story.
	var kinds []int
	cats := map[string]string{"timeline": "timeline_plot", "character": "characterization", "factual": "factual_detail", "narrative": "narrative_style", "world": "world_building"}
	for _, k := range slices.Sorted(maps.Keys(want.Errors)) {
		i := slices.IndexFunc(subtypes, func(s subtypeInfo) bool { return schemas.Categories[s.category].Name == cats[k] })
		for j := range want.Errors[k] {
			kinds = append(kinds, i+j)
		}
	}
	l := newLedger(t)
	var records []CheckRecord
	for _, s := range want.Stories {
		r := plainRecord(fmt.Sprint(s.Story), s.Words, 0)
		for range s.Errors {
			r.Counts[SubtypeFlags][kinds[0]]++
			kinds = kinds[1:]
		}
		l.equal("appendix C stories", r.ID, Number(r.Density(WordsReference, SubtypeFlags)), &s.CED, 1e-9)
		l.equal("appendix C stories", r.ID, Number(r.Quality(WordsReference, SubtypeFlags)), &s.Q, 1e-9)
		records = append(records, r)
	}
	c := CEDOf(records, CEDOptions{})
	l.equal("appendix C", "mean", c.Overall.Mean, want.Mean, 1e-9)
	l.equal("appendix C", "pooled", c.Overall.Pooled, want.Pooled["overall"], 1e-9)
	for k, n := range cats {
		for _, d := range c.ByCategory {
			if d.Name == n {
				l.equal("appendix C", k, d.Pooled, want.Pooled[k], 1e-9)
			}
		}
	}
	if got := c.Overall.Pooled; math.Abs(float64(got)-want.Paper["overall"]) > 0.005 {
		t.Errorf("pooled %v is not what the paper prints, %v", got, want.Paper["overall"])
	}
	l.print()
}

// TestOracleCSV reads the original files and holds them against the runs made
// from them.
func TestOracleCSV(t *testing.T) {
	runs := oracleRuns(t, true)
	var ced map[string]struct{ Source string }
	readOracle(t, "ced.json", &ced)
	files, err := filepath.Glob(filepath.Join(texttest.Oracle(t), "data", "csv", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no CSV files", err)
	}
	n := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var r io.Reader = f
		base := strings.TrimSuffix(filepath.Base(file), ".gz")
		if base != filepath.Base(file) {
			if r, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		run, err := MeasureRows(base, ReadCheckCSV(r, CheckCSV{}), MeasureOptions{})
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		for name, c := range ced {
			if filepath.Base(strings.TrimSuffix(c.Source, ".gz")) != base {
				continue
			}
			n++
			want := runs[name]
			if len(run.Records) != len(want.Records) {
				t.Errorf("%s: %d rows, want %d", base, len(run.Records), len(want.Records))
				continue
			}
			for i := range run.Records {
				a, b := run.Records[i], want.Records[i]
				for _, d := range []ErrorDef{SubtypeFlags, Instances} {
					if a.Counts[d] != b.Counts[d] {
						t.Errorf("%s row %d: %v %v, want %v", base, i, d, a.Counts[d], b.Counts[d])
					}
				}
				if a.ID != b.ID || a.Words != b.Words || a.HasText != b.HasText || a.Status != b.Status || a.State != b.State || a.Complete() != b.Complete() {
					t.Errorf("%s row %d: %s %d words %v %q, want %s %d words %v %q", base, i, a.ID, a.Words, a.Status, a.State, b.ID, b.Words, b.Status, b.State)
				}
			}
			t.Logf("%-44s = %-32s %+v", base, name, CoverageOf(run.Records))
		}
	}
	if n == 0 {
		t.Error("no CSV file belongs to a run")
	}
}
