// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"math"

	"github.com/retcon-bench/retcon/schemas"
)

// AgreementScores are three views of how far people agree.
type AgreementScores struct {
	// Raw is the mean over units of the share of agreeing pairs of ratings.
	Raw Score
	// Fleiss is Fleiss' kappa. It needs the same number of ratings on every
	// unit and is undefined otherwise, or where all ratings are the same.
	// With a lopsided yes it is low, even negative, however much people agree:
	// print Raw beside it.
	Fleiss Score
	// Alpha is Krippendorff's alpha for nominal data, which bears missing
	// ratings. Undefined where all pairable ratings are the same.
	Alpha Score
}

// Agree measures agreement over units; each unit lists the categories that it
// was given, one a rater, missing ratings left out. Units with fewer than two
// ratings pair with nothing: they are Skipped.
func Agree[C comparable](units [][]C) AgreementScores {
	var pairable, ratings, skipped int
	var raw, disagreement float64
	total := map[C]int{}
	sizes := map[int]bool{}
	for _, u := range units {
		m := len(u)
		if m < 2 {
			skipped++
			continue
		}
		pairable++
		ratings += m
		sizes[m] = true
		counts := map[C]int{}
		for _, c := range u {
			counts[c]++
			total[c]++
		}
		same := 0 // ordered pairs of equal ratings
		for _, n := range counts {
			same += n * (n - 1)
		}
		raw += float64(same) / float64(m*(m-1))
		disagreement += float64(m*(m-1)-same) / float64(m-1)
	}
	// Both chance terms, from whole numbers so that no order of summing shows.
	squares, samePairs := 0, 0
	for _, n := range total {
		squares += n * n
		samePairs += n * (n - 1)
	}

	out := AgreementScores{
		Raw:    Score{Metric: "raw_agreement", Value: ratio(raw, float64(pairable)), N: pairable, Skipped: skipped},
		Fleiss: Score{Metric: "fleiss_kappa", Value: math.NaN(), N: pairable, Skipped: skipped},
		Alpha:  Score{Metric: "krippendorff_alpha", Value: math.NaN(), N: pairable, Skipped: skipped},
	}
	switch {
	case pairable == 0:
		return out
	case len(total) == 1:
		const why = "undefined: every rating is the same"
		out.Fleiss.Warnings = []string{why}
		out.Alpha.Warnings = []string{why}
		return out
	}
	if len(sizes) == 1 && skipped == 0 {
		chance := float64(squares) / float64(ratings*ratings)
		out.Fleiss.Value = (out.Raw.Value - chance) / (1 - chance)
	} else {
		out.Fleiss.Warnings = []string{"undefined: units differ in their number of ratings; Krippendorff's alpha bears that"}
	}
	expected := float64(ratings*(ratings-1) - samePairs)
	out.Alpha.Value = 1 - float64(ratings-1)*disagreement/expected
	return out
}

// Record puts the figures in the form of a manifest.
func (a AgreementScores) Record(config string, shown, kept int) schemas.Agreement {
	return schemas.Agreement{
		Config: config, Shown: shown, Kept: kept,
		Raw: rounded(a.Raw.Value), Fleiss: rounded(a.Fleiss.Value), Alpha: rounded(a.Alpha.Value),
	}
}

func rounded(v float64) *float64 { return nullable(round4(v)) }

// State is where a vote stands.
type State int

// The states of a vote.
const (
	Undecided State = iota // too few votes, or an even split: ask one more
	Accepted
	Rejected
)

// String names a state in lower case.
func (s State) String() string { return [...]string{"undecided", "accepted", "rejected"}[s] }

// Majority decides a vote: accepted if strictly more than half of at least
// minVotes votes say yes, rejected if strictly more than half say no.
func Majority(yes, no, minVotes int) State {
	switch {
	case yes+no < max(1, minVotes) || yes == no:
		return Undecided
	case yes > no:
		return Accepted
	}
	return Rejected
}

// Final decides as [Majority] does when nobody is left to ask: what is
// undecided is rejected.
func Final(s State) State {
	if s == Accepted {
		return Accepted
	}
	return Rejected
}

// Tally of one item or sentence, printed as "2:1 (1 cannot say)".
type Ballot struct{ Yes, No, CannotSay int }

func (b Ballot) String() string {
	s := fmt.Sprintf("%d:%d", b.Yes, b.No)
	if b.CannotSay > 0 {
		s += fmt.Sprintf(" (%d cannot say)", b.CannotSay)
	}
	return s
}
