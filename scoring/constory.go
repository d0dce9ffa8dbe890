// SPDX-License-Identifier: Apache-2.0

package scoring

// ConStory-Bench (arXiv 2603.05890): what a checker's findings add up to.
//
// The way of a story: [ReadCheckCSV] or [ReadCheckJSONL] (or [CheckTable.Checks],
// for a table in another format; [CheckRowOfReport], for our own checker's
// reports) makes a [CheckRow]; [Measure] reduces it to a [CheckRecord], some
// hundred numbers without the text, so that a run of any length fits. [CEDOf],
// [GRR], [LengthOf], [CorrelateCategories], [PositionsOf] and
// [TokenUncertainty] are arithmetic on records, [SummariseConStory] is all of
// them for several models and judges. [MatchClaims] and [Calibrate] hold a
// reader against a diagnostic set, [CompareSamples] and [SelfAgreement] a judge
// against itself, [AuditPublished] the paper's tables against the definitions.
//
// What the paper says, what its published code does and what we think right
// differ in three places. Each has a name, and every figure carries it: how
// errors are counted ([ErrorDef]), which rows take part ([RowSet]), what a
// word is ([WordCount]).

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/retcon-bench/retcon/schemas"
)

// Number is a figure that may be undefined: NaN, null in JSON, n/a in print.
type Number float64

// MarshalJSON writes an undefined number as null.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(nullable(float64(n))) }

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	var p *float64
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*n = Number(orNaN(p))
	return nil
}

// Defined reports whether there is a value.
func (n Number) Defined() bool { return !math.IsNaN(float64(n)) }

func (n Number) String() string {
	if !n.Defined() {
		return "n/a"
	}
	return strconv.FormatFloat(float64(n), 'f', 3, 64)
}

// Sizes of the taxonomy, [schemas.Categories].
const (
	CheckCategories = 5
	CheckSubtypes   = 19
)

// subtypeInfo is a subtype in the order of schemas.Categories.
type subtypeInfo struct {
	column   string // category_subtype, the reference's column
	category int
	names    []string // all columns under which it is found
}

var (
	subtypes     = subtypesOf(schemas.Categories)
	subtypeIndex = indexOf(subtypes) // by column, aliases included
)

func subtypesOf(cats []schemas.Category) (out []subtypeInfo) {
	for i, c := range cats {
		for _, s := range c.Subtypes {
			out = append(out, subtypeInfo{column: c.Column(s), category: i, names: c.Columns(s)})
		}
	}
	return out
}

func indexOf(subs []subtypeInfo) map[string]int {
	m := make(map[string]int)
	for i, s := range subs {
		for _, n := range s.names {
			m[n] = i
		}
	}
	return m
}

// SubtypeColumns returns the reference's column of each subtype, in the order
// of [ErrorCounts].
func SubtypeColumns() []string {
	out := make([]string, len(subtypes))
	for i, s := range subtypes {
		out[i] = s.column
	}
	return out
}

// ErrorDef says what counts as an error of a story.
type ErrorDef int

const (
	// SubtypeFlags: how many of the 19 subtypes were hit, which is what the
	// reference counts (a cell that contains the key of a quote). The default
	// for comparison with its figures.
	SubtypeFlags ErrorDef = iota
	// Instances: findings, as the paper says it counts.
	Instances
	// QuoteLocated: findings whose first quote stands in the story.
	QuoteLocated
	// EvidenceLocated: findings whose first quote stands in the story, and
	// the second too unless the judge gave null.
	EvidenceLocated
	// FlagsLocated: subtypes with a finding of EvidenceLocated.
	FlagsLocated
	// Distinct: findings, the same pair of passages counted once however
	// many subtypes it was reported under (it counts for the first).
	Distinct
	// DistinctLocated: the same, of EvidenceLocated.
	DistinctLocated
	errorDefs
)

var errorDefNames = [errorDefs]string{"subtype_flags", "instances", "instances_quote_located", "instances_evidence_located",
	"subtype_flags_evidence_located", "distinct_instances", "distinct_instances_evidence_located"}

// ErrorDefs returns all definitions.
func ErrorDefs() []ErrorDef {
	out := make([]ErrorDef, errorDefs)
	for i := range out {
		out[i] = ErrorDef(i)
	}
	return out
}

func (d ErrorDef) String() string { return errorDefNames[d] }

// MarshalText writes the name.
func (d ErrorDef) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// RowSet says which stories of a run a figure is over.
type RowSet int

const (
	// RowsWithText is the reference: every story with text. What the judge
	// failed to answer counts as clean there, so a run of nothing but HTTP
	// errors scores a perfect 0; every such figure carries a warning.
	RowsWithText RowSet = iota
	// RowsComplete: stories with text of which all categories were judged.
	RowsComplete
	// RowsJudged: overall as RowsComplete; a category or subtype over all
	// stories of which that category was judged.
	RowsJudged
)

func (r RowSet) String() string {
	return [...]string{"all_rows_with_text", "completed_rows_only", "judged_rows"}[r]
}

// MarshalText writes the name.
func (r RowSet) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// WordCount says what a word is.
type WordCount int

const (
	// WordsReference: fields between white space, as Python's str.split.
	WordsReference WordCount = iota
	// WordsByCharacter: each ideograph or kana is a word.
	WordsByCharacter
)

func (w WordCount) String() string { return [...]string{"reference", "cjk"}[w] }

// MarshalText writes the name.
func (w WordCount) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// ErrorCounts counts by subtype, in the order of [SubtypeColumns].
type ErrorCounts [CheckSubtypes]int32

// Total is the sum.
func (c *ErrorCounts) Total() int {
	n := 0
	for _, v := range c {
		n += int(v)
	}
	return n
}

// Category is the sum over category cat of [schemas.Categories].
func (c *ErrorCounts) Category(cat int) int {
	n := 0
	for i, v := range c {
		if subtypes[i].category == cat {
			n += int(v)
		}
	}
	return n
}

// CheckRecord is a story of a checker's run, reduced to numbers.
type CheckRecord struct {
	ID       string
	Model    string
	TaskType string
	Language string
	Judge    string
	Protocol string
	State    string // the run's own word: completed, partial_3_5, error: ...

	HasText         bool // false: no story, or one without a word
	Words, WordsCJK int
	// Status of each category, as in [schemas.CheckStatus].
	Status    [CheckCategories]string
	Counts    [errorDefs]ErrorCounts
	Positions []FindingPosition
	// Tokens is nil where the story came without log-probabilities.
	Tokens *TokenRecord
}

// WordsAs returns the words counted as w says.
func (r *CheckRecord) WordsAs(w WordCount) int {
	if w == WordsByCharacter {
		return r.WordsCJK
	}
	return r.Words
}

// Judged reports whether the category was answered readably.
func (r *CheckRecord) Judged(category int) bool { return judged(r.Status[category]) }

func judged(status string) bool { return status == StatusOK || status == StatusRepaired }

// Complete reports a story with text of which all categories were judged and
// which the run itself calls completed.
func (r *CheckRecord) Complete() bool {
	if !r.HasText || r.State != "" && r.State != stateCompleted {
		return false
	}
	for c := range r.Status {
		if !r.Judged(c) {
			return false
		}
	}
	return true
}

// Quality is Q = words / (1+errors), NaN without text.
func (r *CheckRecord) Quality(w WordCount, d ErrorDef) float64 {
	if !r.HasText {
		return math.NaN()
	}
	return float64(r.WordsAs(w)) / float64(1+r.Counts[d].Total())
}

// Density is errors per 10,000 words, NaN without text.
func (r *CheckRecord) Density(w WordCount, d ErrorDef) float64 {
	if !r.HasText {
		return math.NaN()
	}
	return perTenThousand(r.Counts[d].Total(), r.WordsAs(w))
}

func perTenThousand(errors, words int) float64 { return ratio(float64(errors), float64(words)/10000) }

// storyRecordJSON is the per-story line of a report.
type storyRecordJSON struct {
	ID       string                    `json:"id"`
	Model    string                    `json:"model,omitempty"`
	TaskType string                    `json:"task_type,omitempty"`
	Words    int                       `json:"words"`
	WordsCJK int                       `json:"words_cjk"`
	State    string                    `json:"status"`
	Failed   []string                  `json:"failed_categories"`
	Counts   map[string]map[string]int `json:"errors"`
	Totals   map[string]int            `json:"totals"`
	Flags    Number                    `json:"ced_subtype_flags"`
	Inst     Number                    `json:"ced_instances"`
	Q        Number                    `json:"q"`
	Complete bool                      `json:"complete"`
}

// MarshalJSON writes the per-story record: counts other than 0, densities and
// Q by the reference's words, and what failed.
func (r CheckRecord) MarshalJSON() ([]byte, error) {
	j := storyRecordJSON{ID: r.ID, Model: r.Model, TaskType: r.TaskType, Words: r.Words, WordsCJK: r.WordsCJK, State: r.State,
		Failed: r.Failed(), Counts: map[string]map[string]int{}, Totals: map[string]int{},
		Flags: Number(r.Density(WordsReference, SubtypeFlags)), Inst: Number(r.Density(WordsReference, Instances)),
		Q: Number(r.Quality(WordsReference, SubtypeFlags)), Complete: r.Complete()}
	for d := range r.Counts {
		m := map[string]int{}
		for i, n := range r.Counts[d] {
			if n > 0 {
				m[subtypes[i].column] = int(n)
			}
		}
		j.Counts[ErrorDef(d).String()] = m
		j.Totals[ErrorDef(d).String()] = r.Counts[d].Total()
	}
	return json.Marshal(j)
}

// Failed names the categories without a readable answer; never null.
func (r *CheckRecord) Failed() []string {
	out := []string{}
	for c := range r.Status {
		if !r.Judged(c) {
			out = append(out, schemas.Categories[c].Name)
		}
	}
	return out
}

// CheckCoverage says how much of a run was judged.
type CheckCoverage struct {
	Rows     int `json:"rows"`
	NoText   int `json:"no_text"`
	Complete int `json:"complete"`
	Partial  int `json:"partial"` // with text, some categories judged
	Failed   int `json:"failed"`  // with text, none judged
	// Cells counts statuses by category, of stories with text.
	Cells map[string]map[string]int `json:"cells"`
}

// CoverageOf counts what was judged.
func CoverageOf(records []CheckRecord) CheckCoverage {
	v := CheckCoverage{Rows: len(records), Cells: map[string]map[string]int{}}
	for _, c := range schemas.Categories {
		v.Cells[c.Name] = map[string]int{}
	}
	for i := range records {
		r := &records[i]
		if !r.HasText {
			v.NoText++
			continue
		}
		for c, s := range r.Status {
			v.Cells[schemas.Categories[c].Name][s]++
		}
		switch {
		case r.Complete():
			v.Complete++
		case len(r.Failed()) == CheckCategories:
			v.Failed++
		default:
			v.Partial++
		}
	}
	return v
}

// Warning says what of the run a figure over rows does not tell; "" if nothing.
func (v CheckCoverage) Warning(rows RowSet) string {
	n := v.Partial + v.Failed
	switch {
	case n == 0:
		return ""
	case rows == RowsWithText:
		return fmt.Sprintf("%d of %d stories were not judged or only in part; as in the reference, what failed counts as clean", n, v.Rows-v.NoText)
	default:
		return fmt.Sprintf("%d of %d stories were not judged or only in part and are left out", n, v.Rows-v.NoText)
	}
}

// CheckRun is a named run of records.
type CheckRun struct {
	Name    string
	Records []CheckRecord
}

// Select returns the records that keep accepts, for tables by task type,
// language or model.
func (r CheckRun) Select(keep func(*CheckRecord) bool) []CheckRecord {
	var out []CheckRecord
	for i := range r.Records {
		if keep(&r.Records[i]) {
			out = append(out, r.Records[i])
		}
	}
	return out
}
