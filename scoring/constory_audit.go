// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// PublishedTable is a table of the paper as printed.
type PublishedTable struct {
	Caption string     `json:"caption_zh"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// ReadPublished reads a JSON file of printed tables: {"tables": [{caption_zh or
// caption, columns, rows}]}, every table with its caption, or {"main_table":
// [{model, ced, ...}], "task_type_table": [{model, overall, ...}]}, tables 3 and
// B1 as numbers.
func ReadPublished(r io.Reader) ([]PublishedTable, error) {
	var f struct {
		Tables []json.RawMessage `json:"tables"`
		Main   []json.RawMessage `json:"main_table"`
		Task   []json.RawMessage `json:"task_type_table"`
	}
	data, err := io.ReadAll(r)
	if err == nil {
		err = schemas.ParseForeign(data, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("published tables: %w", err)
	}
	var out []PublishedTable
	for i, raw := range f.Tables {
		t, err := publishedTable(raw)
		if err != nil {
			return nil, fmt.Errorf("published tables: table %d: %w", i+1, err)
		}
		out = append(out, t)
	}
	for _, n := range []struct {
		caption string
		rows    []json.RawMessage
		columns []string
		digits  []int
	}{
		{"Table 3: numbers", f.Main, []string{"model", "ced", "character", "factual", "narrative", "timeline", "world", "grr", "words", "errors", "total"},
			[]int{0, 3, 3, 3, 3, 3, 3, 2, 0, 2, 0}},
		{"Table B1: numbers", f.Task, []string{"model", "overall", "generation", "continuation", "expansion", "completion", "words", "total"},
			[]int{0, 3, 3, 3, 3, 3, 0, 0}},
	} {
		if len(n.rows) == 0 {
			continue
		}
		t := PublishedTable{Caption: n.caption, Columns: n.columns}
		for i, raw := range n.rows {
			var row map[string]any
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			if err := d.Decode(&row); err != nil {
				return nil, fmt.Errorf("published tables: %s, row %d: %w", n.caption, i+1, schemas.JSONFault(err))
			}
			cells := make([]string, len(n.columns))
			for k, c := range n.columns {
				v, ok := row[c]
				if !ok {
					return nil, fmt.Errorf("published tables: %s, row %d has no %q", n.caption, i+1, c)
				}
				cells[k] = printedNumber(v, n.digits[k])
			}
			t.Rows = append(t.Rows, cells)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("published tables: neither \"tables\" nor \"main_table\" is in the file")
	}
	for i, t := range out {
		for j, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return nil, fmt.Errorf("published tables: table %d (%.20s), row %d has %d cells under %d columns", i+1, t.Caption, j+1, len(row), len(t.Columns))
			}
		}
	}
	return out, nil
}

func publishedTable(raw json.RawMessage) (PublishedTable, error) {
	var t struct {
		PublishedTable
		Other string            `json:"caption"`
		Rows  []json.RawMessage `json:"rows"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t.PublishedTable, schemas.JSONFault(err)
	}
	t.Caption = cmp.Or(t.Caption, t.Other)
	for i, raw := range t.Rows {
		var cells []string
		if err := json.Unmarshal(raw, &cells); err != nil {
			return t.PublishedTable, fmt.Errorf("%.20s, row %d: want a list of strings: %w", t.Caption, i+1, schemas.JSONFault(err))
		}
		t.PublishedTable.Rows = append(t.PublishedTable.Rows, cells)
	}
	return t.PublishedTable, nil
}

// printedNumber writes a number with at least so many decimals, which a JSON
// number loses when it ends in zeros: 4.9 was printed 4.90.
func printedNumber(v any, digits int) string {
	s := fmt.Sprint(v)
	if _, ok := v.(json.Number); !ok || digits == 0 {
		return s
	}
	whole, frac, _ := strings.Cut(s, ".")
	return whole + "." + frac + strings.Repeat("0", max(0, digits-len(frac)))
}

// Rules of the audit.
const (
	RuleSum        = "sum"        // parts do not add up to their total
	RuleShare      = "share"      // a percentage is not its count over its total
	RuleRatio      = "ratio"      // a ratio is not that of the cells it is made of
	RuleRange      = "range"      // a value that no data can give
	RulePooled     = "pooled"     // categories do not add up to errors over words
	RuleWeighted   = "weighted"   // an overall value is not the mean of its task types
	RuleTables     = "tables"     // two tables print the same thing differently
	RuleText       = "text"       // the text says other than the table
	RuleTotal      = "total"      // totals exceed the prompts there are said to be
	RuleMark       = "mark"       // a mark of the highest value is on another
	RuleDefinition = "definition" // the figure is one thing by one definition, another by the other
	RuleCell       = "cell"       // a cell that is no number
)

// AuditFinding is a cell that does not follow from the definitions or from
// other cells.
type AuditFinding struct {
	Table    string `json:"table"` // 3, A1, B2, ...; "text"
	Row      string `json:"row"`
	Column   string `json:"column"`
	Rule     string `json:"rule"`
	Printed  string `json:"printed"`
	Expected string `json:"expected"`
	Note     string `json:"note,omitempty"`
}

func (f AuditFinding) String() string {
	s := fmt.Sprintf("table %s, %s, %s: %s, expected %s (%s)", f.Table, f.Row, f.Column, f.Printed, f.Expected, f.Rule)
	if f.Note != "" {
		s += ": " + f.Note
	}
	return s
}

// TextClaim is a figure that the paper's text states of a cell.
type TextClaim struct {
	Table, Row, Column string // the column by its place in the table, from 0, or "min" and "max" of a column: "min 8"
	Value              float64
	Where              string
}

// PaperClaims are the figures of the paper's text (arXiv 2603.05890v1) that a
// table also prints.
var PaperClaims = []TextClaim{
	{"3", "GPT-5-Reasoning", "7", 2.80, "RQ1"},
	{"3", "Claude-Sonnet-4.5", "7", 4.54, "RQ1"},
	{"A1", "合计", "6", 0.678, "appendix A"},
	{"A1", "合计", "5", 0.884, "appendix A"},
	{"A1", "合计", "4", 0.550, "appendix A"},
	{"A1", "合计", "11", 0.281, "appendix A, F1 of the experts"},
	{"A1", "合计", "8", 171, "appendix A, errors found by the experts"},
	{"A1", "", "min 9", 0.045, "appendix A, lowest recall of the experts"},
	{"A1", "", "max 9", 0.315, "appendix A, highest recall of the experts"},
}

// Task counts: those of the construction (table 1) and those that the
// appendix gives for table B1, which are ten fewer.
var (
	constructionCounts = []float64{751, 432, 422, 395}
	appendixCounts     = []float64{748, 429, 419, 394}
)

// AuditPublished holds the printed tables against the definitions and against
// each other. Every check allows for rounding: a cell is reported only if no
// value that rounds to what is printed would do. Tables are known by the
// number in their captions; a table that is not there is not checked, and the
// number of checks made is returned so that "no findings" can be told from
// "nothing checked".
func AuditPublished(tables []PublishedTable, claims []TextClaim) (findings []AuditFinding, checks int) {
	a := auditor{tables: map[string]*auditTable{}}
	for i := range tables {
		name := tableNumber(tables[i].Caption)
		if name == "" && len(tables[i].Columns) == 3 && len(tables[i].Rows) > 1 {
			name = "C" // the worked example has no number
		}
		if name != "" {
			a.tables[name] = a.newTable(name, tables[i])
		}
	}
	a.counts()
	a.main()
	a.diagnostic()
	a.taskTypes()
	a.lengths()
	a.uncertainty()
	a.positions("5")
	a.positions("B4")
	a.example()
	a.across()
	a.text(claims)
	return a.findings, a.checks
}

// tableNumber reads "3" of "表 3：..." and "B2" of "Table B2: ...".
func tableNumber(caption string) string {
	s := strings.TrimSpace(caption)
	for _, p := range []string{"表", "Table", "table", "Tab."} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			rest = strings.TrimSpace(rest)
			end := strings.IndexFunc(rest, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z') })
			if end < 0 {
				end = len(rest)
			}
			return rest[:end]
		}
	}
	return ""
}

// cell is a printed number and half a unit of its last digit.
type cell struct {
	v, half float64
	printed string
	mark    bool
}

func (c cell) lo() float64 { return c.v - c.half }
func (c cell) hi() float64 { return c.v + c.half }

// meets reports whether the cell can be a value in lo to hi. The slack is for
// the noise of binary fractions and for halves rounded to even.
func (c cell) meets(lo, hi float64) bool {
	eps := 1e-9 * max(1, math.Abs(c.v))
	return c.hi()+eps >= lo && c.lo()-eps <= hi
}

func parseCell(s string) (cell, bool) {
	c := cell{printed: s}
	t := strings.TrimSpace(s)
	c.mark = strings.ContainsAny(t, "↑★")
	t = strings.TrimRight(t, "↑★ ")
	t = strings.ReplaceAll(strings.ReplaceAll(t, ",", ""), "−", "-")
	t = strings.TrimPrefix(t, "+")
	percent := strings.HasSuffix(t, "%")
	t = strings.TrimSuffix(t, "%")
	v, err := strconv.ParseFloat(t, 64)
	if err != nil {
		return c, false
	}
	c.v, c.half = v, 0.5
	if i := strings.IndexByte(t, '.'); i >= 0 {
		c.half = 0.5 * math.Pow(10, -float64(len(t)-i-1))
	} else if !percent {
		c.half = 0 // a count is exact; average words say so themselves
	}
	return c, true
}

type auditTable struct {
	name string
	PublishedTable
}

type auditor struct {
	tables   map[string]*auditTable
	findings []AuditFinding
	checks   int
}

func (a *auditor) newTable(name string, t PublishedTable) *auditTable {
	// Rows of a group print its name once.
	last := ""
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		rows[i] = slices.Clone(r)
		if len(r) > 0 && r[0] == "" {
			rows[i][0] = last
		} else if len(r) > 0 {
			last = r[0]
		}
	}
	t.Rows = rows
	return &auditTable{name, t}
}

func (a *auditor) add(t *auditTable, row []string, col int, rule, expected, note string) {
	f := AuditFinding{Table: t.name, Row: row[0], Rule: rule, Expected: expected, Note: note}
	if col >= 0 {
		f.Column, f.Printed = t.Columns[col], row[col]
	}
	a.findings = append(a.findings, f)
}

// check adds a finding unless the cell can be in lo to hi.
func (a *auditor) check(t *auditTable, row []string, col int, c cell, rule string, lo, hi float64, note string) {
	a.checks++
	if c.meets(lo, hi) {
		return
	}
	expected := short(lo)
	if hi-lo > 1e-6 {
		expected += " to " + short(hi)
	}
	a.add(t, row, col, rule, expected, note)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// numbers parses the cells of columns from to end; ok is false, and a finding
// made, where one is no number.
func (a *auditor) numbers(t *auditTable, row []string, from int) (out []cell, ok bool) {
	out = make([]cell, len(row))
	ok = true
	for i := from; i < len(row); i++ {
		var good bool
		if out[i], good = parseCell(row[i]); !good {
			a.add(t, row, i, RuleCell, "a number", "")
			ok = false
		}
	}
	return out, ok
}

// table returns a table with at least n columns.
func (a *auditor) table(name string, n int) (*auditTable, bool) {
	t, ok := a.tables[name]
	return t, ok && len(t.Columns) >= n && len(t.Rows) > 0
}

// counts is table 1: task type, count, share; the last row is the total.
func (a *auditor) counts() {
	t, ok := a.table("1", 3)
	if !ok {
		return
	}
	total, good := parseCell(t.Rows[len(t.Rows)-1][1])
	sum := 0.0
	for _, row := range t.Rows[:len(t.Rows)-1] {
		c, ok := a.numbers(t, row, 1)
		if !ok || !good {
			return
		}
		sum += c[1].v
		a.check(t, row, 2, c[2], RuleShare, 100*c[1].v/total.v, 100*c[1].v/total.v, "")
	}
	last := t.Rows[len(t.Rows)-1]
	a.check(t, last, 1, total, RuleSum, sum, sum, "")
}

// main is table 3: model, CED, five categories, GRR, words, errors, total.
func (a *auditor) main() {
	t, ok := a.table("3", 11)
	if !ok {
		return
	}
	for _, row := range t.Rows {
		c, ok := a.numbers(t, row, 1)
		if !ok {
			continue
		}
		lo, hi := 0.0, 0.0
		for _, k := range c[2:7] {
			lo, hi = lo+k.lo(), hi+k.hi()
		}
		// Errors and words are means over the same stories, so their quotient
		// is the pooled density, which the categories must add up to.
		pooled := cell{v: c[9].v / c[8].v * 1e4, printed: row[9]}
		from, to := c[9].lo()/(c[8].v+0.5)*1e4, c[9].hi()/(c[8].v-0.5)*1e4
		pooled.v, pooled.half = (from+to)/2, (to-from)/2
		a.check(t, row, 9, pooled, RulePooled, lo, hi,
			fmt.Sprintf("errors over words are %.4f to %.4f per 10,000; expected is the sum of the categories", from, to))
		a.check(t, row, 7, c[7], RuleRange, 1, math.Inf(1), "a rank is at least 1")
		a.checks++
		if c[1].hi() < lo || c[1].lo() > hi {
			a.add(t, row, 1, RuleDefinition, fmt.Sprintf("%s to %s as pooled", short(lo), short(hi)),
				"the overall value is a mean over stories, the categories are pooled, so they do not add up")
		}
		a.totals(t, row, 10, c[10])
	}
}

// totals: a total of 2,000 cannot be where 1,990 prompts are said to be.
func (a *auditor) totals(t *auditTable, row []string, col int, c cell) {
	a.checks++
	if s := sumOf(constructionCounts); c.v > s {
		a.add(t, row, col, RuleTotal, "at most "+short(s), "")
	} else if s := sumOf(appendixCounts); t.name == "B1" && c.v > s {
		a.add(t, row, col, RuleTotal, "at most "+short(s), "the appendix gives 748 + 429 + 419 + 394 prompts for this table, table 1 gives 2,000")
	}
}

func sumOf(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// diagnostic is table A1: category, GT, and pred, TP, recall, precision, F1 of
// the checker and of the experts, whose counts are means of two people.
func (a *auditor) diagnostic() {
	t, ok := a.table("A1", 12)
	if !ok {
		return
	}
	sums := make([]float64, 12)
	for i, row := range t.Rows {
		c, ok := a.numbers(t, row, 1)
		if !ok {
			continue
		}
		last := i == len(t.Rows)-1
		for k := range c {
			if last && slices.Contains([]int{1, 2, 3, 7, 8}, k) {
				a.check(t, row, k, c[k], RuleSum, sums[k], sums[k], "")
			}
			sums[k] += c[k].v
		}
		for _, g := range []struct {
			at   int
			note string
		}{{2, ""}, {7, "counts are means of two experts; a mean of their ratios need not be the ratio of the means"}} {
			pred, tp := c[g.at].v, c[g.at+1].v
			a.check(t, row, g.at+2, c[g.at+2], RuleRatio, tp/c[1].v, tp/c[1].v, g.note)
			a.check(t, row, g.at+3, c[g.at+3], RuleRatio, tp/pred, tp/pred, g.note)
			r, p := c[g.at+2], c[g.at+3]
			f := func(p, r float64) float64 { return 2 * p * r / (p + r) }
			a.check(t, row, g.at+4, c[g.at+4], RuleRatio, f(p.lo(), r.lo()), f(p.hi(), r.hi()), "from the printed precision and recall")
		}
	}
}

// taskTypes is table B1: model, overall, four task types, words, total.
func (a *auditor) taskTypes() {
	t, ok := a.table("B1", 8)
	if !ok {
		return
	}
	for _, row := range t.Rows {
		c, ok := a.numbers(t, row, 1)
		if !ok {
			continue
		}
		// Which prompts a model with a smaller total lacks is not known, so
		// its task types' weights can be anything between those of the counts
		// less what is missing.
		missing := max(0, sumOf(constructionCounts)-c[7].v)
		lo, hi := weightedRange(c[2:6], missing)
		a.check(t, row, 1, c[1], RuleWeighted, lo, hi, "mean over stories of the four task types")
		a.highest(t, row, 2, 6, c)
		a.totals(t, row, 7, c[7])
	}
}

// weightedRange returns the least and the greatest mean of four values with
// the weights of table 1 when missing stories are taken away, all of them from
// the lowest, or from the highest.
func weightedRange(c []cell, missing float64) (lo, hi float64) {
	order := []int{0, 1, 2, 3}
	slices.SortFunc(order, func(i, j int) int {
		if c[i].v < c[j].v {
			return -1
		}
		return 1
	})
	mean := func(order []int, value func(cell) float64) float64 {
		left := missing
		sum, n := 0.0, 0.0
		for _, i := range order {
			w := constructionCounts[i]
			gone := min(left, w)
			left -= gone
			sum += (w - gone) * value(c[i])
			n += w - gone
		}
		return ratio(sum, n)
	}
	hi = mean(order, cell.hi)
	slices.Reverse(order)
	return mean(order, cell.lo), hi
}

// highest checks the mark of the row's highest value.
func (a *auditor) highest(t *auditTable, row []string, from, to int, c []cell) {
	top := c[from]
	for _, k := range c[from:to] {
		if k.v > top.v {
			top = k
		}
	}
	for i := from; i < to; i++ {
		if a.checks++; c[i].mark && c[i].v < top.v {
			a.add(t, row, i, RuleMark, "marked at "+top.printed, "")
		}
	}
}

// lengths is table B2: model, five buckets "n (share)", words, total.
func (a *auditor) lengths() {
	t, ok := a.table("B2", 8)
	if !ok {
		return
	}
	for _, row := range t.Rows {
		words, ok1 := parseCell(row[6])
		total, ok2 := parseCell(row[7])
		if !ok1 || !ok2 {
			a.add(t, row, 7, RuleCell, "a number", "")
			continue
		}
		sum, low := 0.0, 0.0
		high := 0.0
		good := true
		for b := 1; b <= 5; b++ {
			count, share, _ := strings.Cut(row[b], "(")
			n, ok := parseCell(count)
			if !ok {
				a.add(t, row, b, RuleCell, "a count", "")
				good = false
				continue
			}
			sum += n.v
			low += n.v * float64(TableB2Edges[b-1])
			if b < 5 {
				high += n.v * float64(TableB2Edges[b])
			} else if n.v > 0 {
				high = math.Inf(1)
			}
			if share != "" {
				if p, ok := parseCell(strings.TrimSuffix(strings.TrimSpace(share), ")")); ok {
					a.check(t, row, b, p, RuleShare, 100*n.v/total.v, 100*n.v/total.v, "")
				} else {
					a.add(t, row, b, RuleCell, "a share", "")
				}
			}
		}
		if !good {
			continue
		}
		a.check(t, row, 7, total, RuleSum, sum, sum, "sum of the five buckets")
		w := cell{v: words.v, half: 0.5}
		a.check(t, row, 6, w, RuleRange, low/sum, high/sum, "average words that the buckets allow")
	}
}

// uncertainty is tables 4 and B3: entropy, probability and perplexity of the
// whole text and of error segments.
func (a *auditor) uncertainty() {
	type pair struct{ whole, segment cell }
	if t, ok := a.table("4", 2); ok && len(t.Rows) >= 3 {
		for col := 1; col < len(t.Columns); col++ {
			w, ok1 := parseCell(t.Rows[0][col])
			s, ok2 := parseCell(t.Rows[1][col])
			d, ok3 := parseCell(t.Rows[2][col])
			if !ok1 || !ok2 || !ok3 {
				continue
			}
			a.check(t, t.Rows[2], col, d, RuleRatio, 100*(s.lo()/w.hi()-1), 100*(s.hi()/w.lo()-1), "from the printed entropies")
		}
	}
	t, ok := a.table("B3", 5)
	if !ok {
		return
	}
	byModel := map[string]map[string]pair{}
	for _, row := range t.Rows {
		c, ok := a.numbers(t, row, 2)
		if !ok {
			continue
		}
		a.check(t, row, 4, c[4], RuleRatio, 100*(c[3].lo()/c[2].hi()-1), 100*(c[3].hi()/c[2].lo()-1), "from the printed values")
		kind := "entropy"
		switch {
		case strings.Contains(row[1], "概率"), strings.Contains(strings.ToLower(row[1]), "prob"):
			kind = "probability"
		case strings.Contains(row[1], "困惑"), strings.Contains(strings.ToLower(row[1]), "perplexity"):
			kind = "perplexity"
		}
		if byModel[row[0]] == nil {
			byModel[row[0]] = map[string]pair{}
		}
		byModel[row[0]][kind] = pair{c[2], c[3]}
		if four, ok := a.table("4", 2); ok && kind == "entropy" {
			if col := slices.Index(four.Columns, row[0]); col > 0 && len(four.Rows) >= 2 {
				for i, k := range []int{2, 3} {
					if o, ok := parseCell(four.Rows[i][col]); ok {
						a.check(t, row, k, c[k], RuleTables, o.lo(), o.hi(), "table 4")
					}
				}
			}
		}
		if kind == "perplexity" {
			a.checks++
			a.add(t, row, 2, RuleDefinition, "one of exp(-mean log p) and mean(1/p)",
				"the appendix defines perplexity in both ways, which differ, and does not say which the table uses")
		}
	}
	for _, row := range t.Rows {
		p, okP := byModel[row[0]]["probability"]
		x, okX := byModel[row[0]]["perplexity"]
		if okP && okX && (strings.Contains(row[1], "困惑") || strings.Contains(strings.ToLower(row[1]), "perplexity")) {
			// By Jensen's inequality both perplexities are at least 1/mean p.
			a.check(t, row, 2, x.whole, RuleRange, 1/p.whole.hi(), math.Inf(1), "at least 1 / mean probability")
			a.check(t, row, 3, x.segment, RuleRange, 1/p.segment.hi(), math.Inf(1), "at least 1 / mean probability")
		}
	}
}

// positions is tables 5 and B4: rows fact, contradiction, gap in turn. The gap
// is a mean of distances, so it is at least the distance of the means, and at
// most what places between 0 and 100 % allow.
func (a *auditor) positions(name string) {
	t, ok := a.table(name, 3)
	if !ok {
		return
	}
	from := 1
	if name == "B4" {
		from = 2
	}
	top := map[int]cell{}
	for i := 0; i+2 < len(t.Rows); i += 3 {
		for col := from; col < len(t.Columns); col++ {
			f, ok1 := parseCell(t.Rows[i][col])
			c, ok2 := parseCell(t.Rows[i+1][col])
			g, ok3 := parseCell(t.Rows[i+2][col])
			if !ok1 || !ok2 || !ok3 {
				a.add(t, t.Rows[i], col, RuleCell, "numbers", "")
				continue
			}
			if g.v > top[col].v {
				top[col] = g
			}
			least := max(0, max(f.lo()-c.hi(), c.lo()-f.hi()))
			most := min(f.hi()+c.hi(), 200-f.lo()-c.lo())
			a.check(t, t.Rows[i+2], col, g, RuleRange, least, most, fmt.Sprintf("the mean places are %s and %s", f.printed, c.printed))
		}
	}
	for i := 2; i < len(t.Rows); i += 3 {
		for col := from; col < len(t.Columns); col++ {
			if g, ok := parseCell(t.Rows[i][col]); ok && g.mark {
				if a.checks++; g.v < top[col].v {
					a.add(t, t.Rows[i], col, RuleMark, "marked at "+top[col].printed, "")
				}
			}
		}
	}
}

// example is appendix C: story, words, errors; the last row is the total.
func (a *auditor) example() {
	t, ok := a.table("C", 3)
	if !ok {
		return
	}
	words, errs, mean, n := 0.0, 0.0, 0.0, 0.0
	for _, row := range t.Rows[:len(t.Rows)-1] {
		c, ok := a.numbers(t, row, 1)
		if !ok {
			return
		}
		words, errs, mean, n = words+c[1].v, errs+c[2].v, mean+ratio(c[2].v, c[1].v/1e4), n+1
	}
	last := t.Rows[len(t.Rows)-1]
	if c, ok := a.numbers(t, last, 1); ok {
		a.check(t, last, 1, c[1], RuleSum, words, words, "")
		a.check(t, last, 2, c[2], RuleSum, errs, errs, "")
	}
	a.checks++
	if pooled := errs / words * 1e4; math.Abs(pooled-mean/n) > 0.005 {
		a.add(t, last, 2, RuleDefinition, fmt.Sprintf("CED %.4f pooled, %.4f as a mean over stories", pooled, mean/n),
			"the appendix prints the pooled value; the main table's overall values are means over stories")
	}
}

// modelAliases are names under which tables print the same model.
var modelAliases = map[string]string{"LongWriter-Zero-32B": "LongWriter-Zero", "LongAlign-13B": "LongAlign-13B-64k"}

// across compares what tables 3, B1 and B2 print of the same model: each cell
// with the first table that has it.
func (a *auditor) across() {
	type place struct {
		table string
		c     cell
	}
	first := map[string]map[string]place{"CED": {}, "words": {}, "total": {}}
	for _, t := range []struct {
		name string
		n    int
		cols map[string]int
	}{
		{"3", 11, map[string]int{"CED": 1, "words": 8, "total": 10}},
		{"B1", 8, map[string]int{"CED": 1, "words": 6, "total": 7}},
		{"B2", 8, map[string]int{"words": 6, "total": 7}},
	} {
		table, ok := a.table(t.name, t.n)
		if !ok {
			continue
		}
		for _, row := range table.Rows {
			model := row[0]
			if m, ok := modelAliases[model]; ok {
				model = m
			}
			for _, what := range slices.Sorted(maps.Keys(t.cols)) {
				col := t.cols[what]
				c, ok := parseCell(row[col])
				if !ok {
					continue
				}
				before, seen := first[what][model]
				if !seen {
					first[what][model] = place{t.name, c}
					continue
				}
				if a.checks++; c.v != before.c.v {
					a.add(table, row, col, RuleTables, before.c.printed, "table "+before.table)
				}
			}
		}
	}
}

// text compares claims of the text with cells.
func (a *auditor) text(claims []TextClaim) {
	for _, cl := range claims {
		t, ok := a.tables[cl.Table]
		if !ok {
			continue
		}
		which, num, extreme := strings.Cut(cl.Column, " ")
		if !extreme {
			num = which
		}
		col, err := strconv.Atoi(num)
		if err != nil || col < 0 || col >= len(t.Columns) {
			continue
		}
		var at []string
		var best cell
		for i, row := range t.Rows {
			c, ok := parseCell(row[col])
			switch {
			case !ok, extreme && i == len(t.Rows)-1, !extreme && !sameRow(row[0], cl.Row): // the last row is the total
			case at == nil, which == "min" && c.v < best.v, which == "max" && c.v > best.v:
				at, best = row, c
			}
		}
		if at == nil {
			continue
		}
		if a.checks++; !best.meets(cl.Value, cl.Value) {
			a.add(t, at, col, RuleText, short(cl.Value), cl.Where)
		}
	}
}

// sameRow reports whether a row is the one that a claim names, in the language
// of the translation or of the paper.
func sameRow(row, claim string) bool {
	return row == claim || claim == "合计" && slices.Contains([]string{"total", "overall", "all"}, strings.ToLower(strings.TrimSpace(row)))
}
