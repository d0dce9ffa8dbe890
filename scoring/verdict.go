// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"encoding/json"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Verdict is what a scorer makes of one prediction.
type Verdict struct {
	Item   *Item
	Sample int
	// Outcome is the prediction's own ("ok", "truncated", ...), "missing" for
	// a row without prediction and "stale" for one made on another text.
	Outcome  string
	Answered bool // a label could be read
	Error    bool // the label read is "error"

	// Of the [Side] values, for predictions of an error.
	Sides [2]SideVerdict
	// Quotes given and those that map to no sentence. Sentence ids outside the
	// story count as unmapped quotes.
	Quotes, Unmapped int32
	// OverQuoted: a side maps to more than 5 sentences.
	OverQuoted bool
	// Inconsistent: the label is "consistent" and lines were given all the
	// same. The label wins.
	Inconsistent bool

	// Tokens of the completion, reasoning included; for score against cost.
	Tokens, ReasoningTokens int32
}

// SideVerdict counts sentences of one side.
type SideVerdict struct {
	Named int32 // sentences the prediction maps to, after the scorer's limit
	Hits  int32 // of these, gold ones
	Gold  int32 // gold sentences
}

// F1 is the sentence F1 of a side; 0 where nothing was hit.
func (s SideVerdict) F1() float64 {
	if s.Hits == 0 {
		return 0
	}
	return 2 * float64(s.Hits) / float64(s.Named+s.Gold)
}

// Right reports whether the label is right. No answer is right for no class.
func (v *Verdict) Right() bool { return v.Answered && v.Error == v.Item.Error }

// Hit reports whether a side holds a gold sentence.
func (v *Verdict) Hit(s Side) bool { return v.Sides[s].Hits > 0 }

// Localised reports whether both sides hold a gold sentence.
func (v *Verdict) Localised() bool { return v.Hit(SideError) && v.Hit(SideContradicted) }

// Full is the item's CEEval-Full: the label is right and, on a positive, both
// sides are hit.
func (v *Verdict) Full() bool { return v.Right() && (!v.Item.Error || v.Localised()) }

// Strict is Full with all sentences named on either side gold ones.
func (v *Verdict) Strict() bool {
	if !v.Full() {
		return false
	}
	for _, s := range v.Sides {
		if v.Item.Error && s.Hits < s.Named {
			return false
		}
	}
	return true
}

// MarshalJSON writes a verdict as one flat row.
func (v Verdict) MarshalJSON() ([]byte, error) {
	label := ""
	if v.Answered {
		label = schemas.LabelConsistent
		if v.Error {
			label = schemas.LabelError
		}
	}
	return json.Marshal(struct {
		ExampleID    string `json:"example_id"`
		GroupID      string `json:"group_id"`
		Sample       int    `json:"sample"`
		Outcome      string `json:"outcome"`
		Gold         string `json:"gold"`
		Label        string `json:"label"`
		Right        bool   `json:"right"`
		ErrorHit     bool   `json:"error_hit"`
		ContraHit    bool   `json:"contradicted_hit"`
		Full         bool   `json:"ceeval_full"`
		Strict       bool   `json:"strict"`
		Quotes       int32  `json:"quotes"`
		Unmapped     int32  `json:"unmapped"`
		OverQuoted   bool   `json:"over_quoted"`
		Inconsistent bool   `json:"inconsistent"`
		Words        int    `json:"words"`
		Tokens       int32  `json:"tokens"`
	}{
		v.Item.ID, v.Item.Group, v.Sample, v.Outcome, v.Item.Label(), label, v.Right(),
		v.Hit(SideError), v.Hit(SideContradicted), v.Full(), v.Strict(),
		v.Quotes, v.Unmapped, v.OverQuoted, v.Inconsistent, v.Item.Words, v.Tokens,
	})
}

// Scorer decides what a prediction says and which sentences it names. There
// are two, and every figure names its own.
type Scorer struct {
	Name    string
	Version int // raised when a verdict changes
	Doc     string

	judge func(*Item, *schemas.Prediction) Verdict
	find  func(*Item, []string) []int
}

// Default maps quotes of 4 words or more, or whole sentences, to the data
// set's frozen sentences; see the comment in map.go for the rules.
var Default = Scorer{
	Name: "default", Version: 1,
	Doc:   "frozen sentences, quotes of 4 words or a whole sentence, at most 5 sentences a side",
	judge: judgeDefault,
	find: func(it *Item, quotes []string) []int {
		m := mappers.Get().(*mapper)
		defer mappers.Put(m)
		s, _ := m.side(it.index, quotes)
		return ints(s)
	},
}

// Compat scores as the code published with the paper does. It can be gamed:
// an empty quote hits every sentence and "the" most of them, so read it with
// the over-quote rate beside it.
var Compat = Scorer{
	Name: "compat", Version: 1,
	Doc:   "as published: a quote hits every sentence that contains it (can be gamed; see the over-quote rate)",
	judge: judgeCompat,
	find: func(it *Item, quotes []string) []int {
		s, _ := compatSide(it.index, quotes)
		return ints(s)
	},
}

// Scorers are both, in the order in which they are reported.
var Scorers = []Scorer{Default, Compat}

// ScorerNamed returns the scorer called name.
func ScorerNamed(name string) (Scorer, bool) {
	for _, s := range Scorers {
		if s.Name == name {
			return s, true
		}
	}
	return Scorer{}, false
}

// Judge scores one prediction of an item.
func (s Scorer) Judge(it *Item, p *schemas.Prediction) Verdict { return s.judge(it, p) }

// Sentences returns the sentence ids that quotes map to, in the order of the
// answer and before the limit on a side; ascending for [Compat], which keeps
// no order.
func (s Scorer) Sentences(it *Item, quotes []string) []int { return s.find(it, quotes) }

func ints(s []int32) []int {
	out := make([]int, len(s))
	for i, v := range s {
		out[i] = int(v)
	}
	return out
}

// Outcomes this package gives itself.
const (
	OutcomeOK          = "ok"
	OutcomeEmpty       = "empty"
	OutcomeRefusal     = "refusal"
	OutcomeTruncated   = "truncated"
	OutcomeNoReasonEnd = "truncated_in_reasoning"
	OutcomeParseFailed = "parse_failed"
	OutcomeMissing     = "missing"
	OutcomeStale       = "stale"
)

// usable reports an outcome that carries a label: ok, and the three with
// which the model boundary marks an answer it could read after a repair. An
// outside file may leave it empty.
func usable(outcome string) bool {
	switch outcome {
	case OutcomeOK, "", "fenced", "repaired", "unclosed_tag":
		return true
	}
	return false
}

// verdictOf fills what both scorers share, and reports whether sides count.
func verdictOf(it *Item, p *schemas.Prediction) (v Verdict, errorFound bool) {
	v = Verdict{
		Item: it, Sample: p.Sample, Outcome: p.Outcome,
		Tokens: int32(p.CompletionTokens), ReasoningTokens: int32(p.ReasoningTokens),
	}
	if v.Outcome == "" {
		v.Outcome = OutcomeOK
	}
	if usable(p.Outcome) {
		switch p.Label {
		case schemas.LabelError:
			v.Answered, v.Error = true, true
		case schemas.LabelConsistent:
			v.Answered = true
			v.Inconsistent = len(p.ErrorLines)+len(p.ContradictedLines)+len(p.ErrorSentences)+len(p.ContradictedSentences) > 0
		default:
			v.Outcome = OutcomeParseFailed
		}
	}
	return v, v.Answered && v.Error
}

func judgeDefault(it *Item, p *schemas.Prediction) Verdict {
	v, found := verdictOf(it, p)
	if !found {
		return v
	}
	m := mappers.Get().(*mapper)
	defer mappers.Put(m)
	for side := range v.Sides {
		var named []int32
		var unmapped int
		ids, quotes := sideOf(p, Side(side))
		if len(ids) > 0 {
			m.out = m.out[:0]
			named, unmapped = given(it, ids, m.out)
			v.Quotes += int32(len(ids))
		} else {
			named, unmapped = m.side(it.index, quotes)
			v.Quotes += int32(len(quotes))
		}
		v.Unmapped += int32(unmapped)
		if len(named) > maxSentences {
			v.OverQuoted = true
			named = named[:maxSentences]
		}
		v.Sides[side] = count(named, it.Gold[side])
	}
	return v
}

func judgeCompat(it *Item, p *schemas.Prediction) Verdict {
	q := *p
	// The published code reads the raw decision by its phrase, whatever we
	// made of it; other failures stay failures.
	if (usable(p.Outcome) || p.Outcome == OutcomeParseFailed) && p.Raw != "" {
		if decision, ok := decisionText(p.Raw); ok {
			q.Outcome, q.Label = OutcomeOK, schemas.LabelError
			if compatDecision(decision) == DecisionConsistent {
				q.Label = schemas.LabelConsistent
			} else if !usable(p.Outcome) {
				a := ReadAnswer(p.Raw, "")
				q.ErrorLines, q.ContradictedLines = a.ErrorLines, a.ContradictedLines
			}
		}
	}
	v, found := verdictOf(it, &q)
	if !found {
		return v
	}
	for side := range v.Sides {
		var named []int32
		var unmapped int
		ids, quotes := sideOf(&q, Side(side))
		if len(ids) > 0 {
			named, unmapped = given(it, ids, nil)
			for i, s := range named {
				named[i] = it.index.first[s]
			}
			named = compactInOrder(named)
			v.Quotes += int32(len(ids))
		} else {
			named, unmapped = compatSide(it.index, quotes)
			v.Quotes += int32(len(quotes))
		}
		v.Unmapped += int32(unmapped)
		v.OverQuoted = v.OverQuoted || len(named) > maxSentences
		v.Sides[side] = count(named, compatGold(it.index, it.Gold[side]))
	}
	return v
}

func sideOf(p *schemas.Prediction, s Side) (ids []int, quotes []string) {
	if s == SideError {
		return p.ErrorSentences, p.ErrorLines
	}
	return p.ContradictedSentences, p.ContradictedLines
}

// given takes sentence ids as the system named them; those outside the story
// count as unmapped.
func given(it *Item, ids []int, dst []int32) (named []int32, unmapped int) {
	for _, id := range ids {
		switch {
		case id < 0 || id >= it.Sentences:
			unmapped++
		case !slices.Contains(dst, int32(id)):
			dst = append(dst, int32(id))
		}
	}
	return dst, unmapped
}

func count(named []int32, gold []int) SideVerdict {
	v := SideVerdict{Named: int32(len(named)), Gold: int32(len(gold))}
	for _, s := range named {
		if slices.Contains(gold, int(s)) {
			v.Hits++
		}
	}
	return v
}
