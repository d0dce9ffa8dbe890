// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
)

// ReportFile is the release's report, one self-contained page.
const ReportFile = "report/index.html"

// examplesShown is how many rows the report shows in full.
const examplesShown = 5

// writeReport writes what is inside a release as one HTML page: no script, no
// network, all texts escaped.
func writeReport(w io.Writer, in sidecarInput) error {
	p := report.Page{Title: title(in.Manifest), Subtitle: fmt.Sprintf("%s@%s of %s. For evaluation only. Canary: %s", in.Name, in.Version, in.Date, in.Canary)}
	p.Sections = append(p.Sections, in.inside(), in.funnel(), in.lengths(), in.kinds(), in.distances(), in.sourcesSection(), in.audit(), in.agreementSection(), in.examples())
	return p.Write(w)
}

func (in sidecarInput) inside() report.Section {
	s := report.Section{Title: "What is inside"}
	if d := in.Recipe.Description; d != "" {
		s.Text = append(s.Text, d)
	}
	t := &report.Table{Columns: []string{"config", "split", "rows", "errors", "consistent", "sources", "files", "bytes"}}
	var bars []report.Bar
	for _, c := range in.Configs {
		for _, sp := range c.Splits {
			if c.Schema != "example" { // rows without a label
				t.Add(c.Name, sp.Name, sp.Rows, nil, nil, nil, len(sp.Files), int(sp.Bytes))
				continue
			}
			t.Add(c.Name, sp.Name, sp.Rows, sp.Positives, sp.Negatives, sp.Groups, len(sp.Files), int(sp.Bytes))
			bars = append(bars, report.Bar{Label: c.Name + ": errors", Value: float64(sp.Positives), Group: "errors"}, report.Bar{Label: "consistent", Value: float64(sp.Negatives), Group: "consistent"})
		}
	}
	s.Tables = append(s.Tables, t)
	if len(bars) > 0 {
		s.Figures = append(s.Figures, report.Bars("Rows by config: with an error, and consistent", bars, 0))
	}
	if n := len(in.Hidden); n > 0 {
		s.Text = append(s.Text, fmt.Sprintf("%d more rows are hidden; the manifest has their ids and salted hashes.", n))
	}
	return s
}

func (in sidecarInput) funnel() report.Section {
	s := report.Section{Title: "From stories to rows", Text: []string{"Each step reads what the one before left. What a step sets aside has a reason; a step may also make several records of one, so out can exceed in."}}
	steps := &report.Table{Columns: []string{"step", "in", "out", "set aside"}}
	var bars, drops []report.Bar
	duplicates := 0
	for _, st := range in.Steps {
		steps.Add(st.Step, st.In, st.Out, st.Dropped)
		bars = append(bars, report.Bar{Label: st.Step + ": in", Value: float64(st.In), Group: "in"}, report.Bar{Label: "out", Value: float64(st.Out), Group: "out"},
			report.Bar{Label: "set aside", Value: float64(st.Dropped), Group: "set aside"})
		if st.Step == "dedup" {
			duplicates = st.Dropped
		}
	}
	reasons := &report.Table{Title: "Set aside, by stage and reason", Columns: []string{"stage/reason", "records"}}
	list := slices.Clone(in.Drops)
	slices.SortStableFunc(list, func(a, b schemas.Count) int { return cmp.Compare(b.N, a.N) })
	for i, d := range list {
		reasons.Add(d.Name, d.N)
		if i < 20 {
			drops = append(drops, report.Bar{Label: d.Name, Value: float64(d.N)})
		}
	}
	s.Text = append(s.Text, fmt.Sprintf("Duplicates removed: %d.", duplicates))
	if len(bars) > 0 {
		s.Figures = append(s.Figures, report.Bars("Records by step", bars, 0))
	}
	if len(drops) > 0 {
		s.Figures = append(s.Figures, report.Bars("Why records were set aside", drops, 0))
	}
	s.Tables = append(s.Tables, steps)
	for _, st := range in.Steps {
		if len(st.Stages) > 0 {
			s.Figures = append(s.Figures, report.Funnel("Yield of "+st.Step+", stage by stage", st.Stages))
			t := report.FunnelTable("Stages of "+st.Step, st.Stages)
			t.Notes = []string{"Set aside are records that ended at a stage; parts, such as a fact or a variant, were set aside while their record went on."}
			s.Tables = append(s.Tables, t)
		}
	}
	s.Tables = append(s.Tables, reasons)
	for _, n := range in.Notes {
		s.Text = append(s.Text, "Note: "+n+".")
	}
	return s
}

func (in sidecarInput) lengths() report.Section {
	s := report.Section{Title: "Lengths"}
	t := &report.Table{Title: "Words a story", Columns: []string{"config", "split", "n", "mean", "sd", "min", "lower quartile", "median", "upper quartile", "max"}}
	for _, c := range in.Configs {
		for _, sp := range c.Splits {
			if w := sp.Words; w != nil {
				t.Add(c.Name, sp.Name, w.N, w.Mean, w.SD, int(w.Min), w.Q1, w.Median, w.Q3, int(w.Max))
			}
		}
	}
	for _, p := range in.rows.splits {
		if len(p.words) >= histogramRows {
			s.Figures = append(s.Figures, report.Histogram("Words a story: "+p.config+"/"+p.split, "words", floats(p.words), bins(len(p.words))))
		}
	}
	s.Tables = append(s.Tables, t)
	return s
}

// histogramRows is the least number of values that a histogram is drawn of; the
// table has the others.
const histogramRows = 10

// bins grows with the number of values, as far as a page has room.
func bins(n int) int {
	return max(5, min(20, int(math.Sqrt(float64(n))*1.5)))
}

func floats(list []int) []float64 {
	out := make([]float64, len(list))
	for i, n := range list {
		out[i] = float64(n)
	}
	return out
}

// kinds shows counts config by config: a row stands in several, so a sum over
// all would count it more than once.
func (in sidecarInput) kinds() report.Section {
	s := report.Section{Title: "Kinds", Text: []string{"Configs that share their plot holes are drawn once."}}
	var drawn []map[string]int
	for _, p := range in.rows.splits {
		if len(p.classes)+len(p.kinds)+len(p.negatives) == 0 {
			continue
		}
		at := p.config + "/" + p.split
		for _, f := range []struct {
			title string
			count map[string]int
		}{{"Classes of plot holes: ", p.classes}, {"Subtypes: ", p.subtypes}, {"Consistent rows: ", p.negatives}} {
			if len(f.count) < 2 || slices.ContainsFunc(drawn, func(m map[string]int) bool { return maps.Equal(m, f.count) }) {
				continue
			}
			drawn = append(drawn, f.count)
			var bars []report.Bar
			for _, c := range counted(f.count) {
				bars = append(bars, report.Bar{Label: c.Name, Value: float64(c.N)})
			}
			s.Figures = append(s.Figures, report.Bars(f.title+at, bars, 0))
		}
	}
	return s
}

func (in sidecarInput) distances() report.Section {
	s := report.Section{Title: "Distances", Text: []string{"Words between the last contradicted sentence before the error and the first sentence with the error."}}
	t := &report.Table{Columns: []string{"config", "split", "errors", "median distance", "mean sites", "told by the narrator"}}
	for _, p := range in.rows.splits {
		if len(p.distance) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(p.distance))
		sites := 0
		for _, n := range p.sites {
			sites += n
		}
		mean := 0.0
		if len(p.sites) > 0 {
			mean = float64(sites) / float64(len(p.sites))
		}
		t.Add(p.config, p.split, len(p.distance), sorted[len(sorted)/2], mean, p.voices["narrator"])
		if len(p.distance) >= histogramRows {
			s.Figures = append(s.Figures, report.Histogram("Distance: "+p.config+"/"+p.split, "words", floats(p.distance), bins(len(p.distance))))
		}
	}
	s.Tables = append(s.Tables, t)
	return s
}

func (in sidecarInput) sourcesSection() report.Section {
	s := report.Section{Title: "Sources"}
	t := &report.Table{Columns: []string{"corpus", "licence", "files", "stories read", "kept"}}
	for _, c := range in.Corpora {
		t.Add(c.Name, c.Licence, c.Files, c.Read, c.Kept)
	}
	rows := &report.Table{Title: "Rows by corpus", Columns: []string{"config", "split", "corpus", "rows"}}
	for _, p := range in.rows.splits {
		for _, c := range counted(p.corpora) {
			rows.Add(p.config, p.split, c.Name, c.N)
		}
	}
	s.Tables = append(s.Tables, t, rows)
	if len(in.Overlap) > 0 {
		o := &report.Table{Title: "Compared with earlier releases", Columns: []string{"against", "proof", "sources compared", "shared", "near in text", "plot holes shared", "holds"}}
		for _, v := range in.Overlap {
			o.Add(v.Against, v.Proof, v.Compared, v.SharedSource, v.NearText, v.SharedFlaw, yesNo(v.Holds))
		}
		s.Tables = append(s.Tables, o)
	}
	return s
}

func (in sidecarInput) audit() report.Section {
	s := report.Section{Title: "Leak audit", Text: []string{"Can the label be told without reading, from surface features alone? Area under the curve of the best of three classifiers, with 95 % bounds; 0.5 is chance."}}
	t := &report.Table{Columns: []string{"config", "sources", "AUC", "lower", "upper", "judged", "remark", "strongest features"}}
	var bars []report.Bar
	for _, l := range in.Leaks {
		t.Add(l.Config, l.Groups, optionalCell(l.AUC), optionalCell(l.Lower), optionalCell(l.Upper), yesNo(l.Judged), l.Why, strings.Join(l.Features, ", "))
		if l.AUC != nil && l.Lower != nil && l.Upper != nil {
			bars = append(bars, report.Bar{Label: l.Config, Value: *l.AUC, Low: *l.Lower, High: *l.Upper})
		}
	}
	if len(bars) > 0 {
		s.Figures = append(s.Figures, report.Bars("Area under the curve of surface features", bars, 1))
	}
	s.Tables = append(s.Tables, t)
	return s
}

func optionalCell(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

func (in sidecarInput) agreementSection() report.Section {
	s := report.Section{Title: "Agreement"}
	if len(in.Agreement) == 0 {
		s.Text = []string{"No people judged these rows."}
		return s
	}
	t := &report.Table{Columns: []string{"config", "shown", "kept", "raw", "Fleiss' kappa", "Krippendorff's alpha"}}
	for _, a := range in.Agreement {
		t.Add(a.Config, a.Shown, a.Kept, optionalCell(a.Raw), optionalCell(a.Fleiss), optionalCell(a.Alpha))
	}
	s.Tables = []*report.Table{t}
	return s
}

// examples shows rows of as many classes as there are, the commonest first, out
// of the first config that has positives.
func (in sidecarInput) examples() report.Section {
	s := report.Section{Title: "Examples", Text: []string{"Sentences that introduce the error, and the earlier ones they contradict, are marked. Please do not copy these texts to where a crawler finds them."}}
	for _, p := range in.rows.splits {
		if len(p.examples) == 0 {
			continue
		}
		order := slices.SortedFunc(maps.Keys(p.examples), func(a, b string) int {
			return cmp.Or(cmp.Compare(p.classes[b], p.classes[a]), cmp.Compare(a, b))
		})
		// One a source before any source gives a second.
		shown := map[string]bool{}
		for _, again := range []bool{false, true} {
			for _, class := range order {
				e := p.examples[class]
				if len(s.Passages) < examplesShown && shown[e.GroupID] == again && !shown[e.ExampleID] {
					shown[e.GroupID], shown[e.ExampleID] = true, true
					s.Passages = append(s.Passages, passage(e))
				}
			}
		}
		break
	}
	if len(s.Passages) == 0 {
		s.Text = append(s.Text, fmt.Sprintf("No row with an error has %d words or less.", exampleWords))
	}
	return s
}

// passage marks a row's gold sentences. Spans are in order and do not overlap
// within a side; a sentence of both sides is drawn as error.
func passage(e schemas.Example) report.Passage {
	type mark struct {
		schemas.Span
		kind string
	}
	var marks []mark
	for _, s := range e.ErrorSpans {
		marks = append(marks, mark{s, "error"})
	}
	for _, s := range e.ContradictedSpans {
		marks = append(marks, mark{s, "contradicted"})
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.ByteStart, b.ByteStart) })
	p := report.Passage{Title: e.Title + " (" + e.ExampleID + ")"}
	at := 0
	for _, m := range marks {
		if m.ByteStart < at || m.ByteEnd > len(e.Story) || m.ByteStart > m.ByteEnd { // nobody has vouched for a damaged row
			continue
		}
		p.Parts = append(p.Parts, report.Part{Text: e.Story[at:m.ByteStart]}, report.Part{Text: e.Story[m.ByteStart:m.ByteEnd], Kind: m.kind})
		at = m.ByteEnd
	}
	p.Parts = append(p.Parts, report.Part{Text: e.Story[at:]})
	if e.Explanation != nil {
		p.Notes = append(p.Notes, *e.Explanation)
	}
	p.Notes = append(p.Notes, "Source: "+e.Source.Title+", "+e.Source.Corpus+", "+e.Source.Licence)
	return p
}
