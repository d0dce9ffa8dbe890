// SPDX-License-Identifier: Apache-2.0

package scoring

// Tally sums verdicts. Every metric of this package is a function of these
// sums, so that a bootstrap adds rows of numbers instead of scoring anew.
type Tally [numCounts]float64

const (
	countRows = iota
	countPos
	countAnswered
	countTP // answered rows by gold and predicted label
	countFP
	countTN
	countFN
	countErrorHit  // positives with the error side hit
	countContraHit // positives with the contradicted side hit
	countLocalised // positives with both hit: their CEEval
	countStrict    // of these, with nothing but gold sentences
	countF1        // sum over positives of the mean sentence F1 of both sides
	countQuotes
	countUnmapped
	countOver
	countInconsistent
	countMatches      // matched groups with both labels
	countMatchesRight // with every row right
	numCounts
)

// Count returns the sums over verdicts, matched groups included.
func Count(vs []Verdict) Tally {
	var t Tally
	for i := range vs {
		t.add(&vs[i])
	}
	eachMatch(vs, func(_ string, right bool) { t.addMatch(right) })
	return t
}

func (t *Tally) add(v *Verdict) {
	t[countRows]++
	if v.Item.Error {
		t[countPos]++
	}
	if v.Answered {
		t[countAnswered]++
	}
	switch {
	case !v.Answered:
	case v.Item.Error && v.Error:
		t[countTP]++
		// Sides only count where the label is right.
		if v.Hit(SideError) {
			t[countErrorHit]++
		}
		if v.Hit(SideContradicted) {
			t[countContraHit]++
		}
		if v.Localised() {
			t[countLocalised]++
		}
		if v.Strict() {
			t[countStrict]++
		}
		t[countF1] += (v.Sides[SideError].F1() + v.Sides[SideContradicted].F1()) / 2
	case v.Item.Error:
		t[countFN]++
	case v.Error:
		t[countFP]++
	default:
		t[countTN]++
	}
	t[countQuotes] += float64(v.Quotes)
	t[countUnmapped] += float64(v.Unmapped)
	if v.OverQuoted {
		t[countOver]++
	}
	if v.Inconsistent {
		t[countInconsistent]++
	}
}

func (t *Tally) addMatch(right bool) {
	t[countMatches]++
	if right {
		t[countMatchesRight]++
	}
}

func (t *Tally) plus(u *Tally) {
	for i, v := range u {
		t[i] += v
	}
}

// Confusion are the cells of a confusion table.
type Confusion struct {
	TP            int `json:"tp"`
	FP            int `json:"fp"`
	TN            int `json:"tn"`
	FN            int `json:"fn"`
	UnansweredPos int `json:"unanswered_pos"`
	UnansweredNeg int `json:"unanswered_neg"`
}

// Confusion returns the cells of the tally.
func (t Tally) Confusion() Confusion {
	c := Confusion{TP: int(t[countTP]), FP: int(t[countFP]), TN: int(t[countTN]), FN: int(t[countFN])}
	pos := int(t[countPos])
	c.UnansweredPos = pos - c.TP - c.FN
	c.UnansweredNeg = int(t[countRows]) - pos - c.TN - c.FP
	return c
}
