// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"slices"
	"time"

	"github.com/retcon-bench/retcon/schemas"
)

// VoteRules say which votes count. The zero value counts every annotator's
// last vote and asks for three.
type VoteRules struct {
	// MinVotes an item needs; 0 = 3.
	MinVotes int
	// MinSeconds is the least time an annotator must have spent on an item,
	// all of their votes on it together.
	MinSeconds float64
	// Gates are questions with known answers, by example_id. They are no
	// items. All votes of an annotator with less than GatePass of the gates they
	// answered right are set aside; 0 = every one must be right.
	Gates    map[string]bool
	GatePass float64
	// TextHash returns the text_hash of an item; votes on another text are
	// stale, on unknown items unknown. Nil checks neither. Votes without a hash
	// are taken as they are.
	TextHash func(exampleID string) (hash string, known bool)
}

func (r VoteRules) minVotes() int {
	if r.MinVotes == 0 {
		return 3
	}
	return r.MinVotes
}

// Reasons for which a vote is set aside.
const (
	AsideStale   = "stale"    // made on another text
	AsideUnknown = "unknown"  // of an item that is not there
	AsideFast    = "too_fast" // under the time floor
	AsideGate    = "gate"     // by an annotator who failed the gate questions
)

// Aside is a vote that does not count, and why.
type Aside struct {
	Vote   schemas.Vote
	Reason string
}

// Panel is a set of votes, counted.
type Panel struct {
	Rules VoteRules
	// Items in order of id; each annotator's last vote, by annotator.
	Items []ItemVotes
	// History holds votes that a later one of the same annotator replaced.
	History    []schemas.Vote
	SetAside   []Aside
	Annotators []Annotator // by name
}

// ItemVotes are the votes that count on one item.
type ItemVotes struct {
	ExampleID string
	Votes     []schemas.Vote
}

// Annotator sums up one annotator.
type Annotator struct {
	Name              string
	Votes             int // that count
	Gates, GatesRight int
	Passed            bool
}

// CountVotes makes a panel of votes. An annotator who voted on an item twice
// counts once, with the later vote: by time where both carry a readable one,
// else by order in the input. The result does not depend on how votes of
// different annotators are mixed.
func CountVotes(votes []schemas.Vote, rules VoteRules) Panel {
	p := Panel{Rules: rules}
	type key struct{ item, annotator string }
	last := map[key]schemas.Vote{}
	seconds := map[key]float64{}
	var keys []key
	for _, v := range votes {
		if rules.TextHash != nil {
			if _, gate := rules.Gates[v.ExampleID]; !gate {
				hash, known := rules.TextHash(v.ExampleID)
				switch {
				case !known:
					p.SetAside = append(p.SetAside, Aside{v, AsideUnknown})
					continue
				case v.TextHash != "" && v.TextHash != hash:
					p.SetAside = append(p.SetAside, Aside{v, AsideStale})
					continue
				}
			}
		}
		k := key{v.ExampleID, v.Annotator}
		seconds[k] += v.Seconds
		old, twice := last[k]
		switch {
		case !twice:
			keys = append(keys, k)
			last[k] = v
		case earlier(v, old):
			p.History = append(p.History, v)
		default:
			p.History = append(p.History, old)
			last[k] = v
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.annotator, b.annotator))
	})

	people := map[string]*Annotator{}
	for _, k := range keys {
		a := people[k.annotator]
		if a == nil {
			a = &Annotator{Name: k.annotator, Passed: true}
			people[k.annotator] = a
		}
		if want, gate := rules.Gates[k.item]; gate {
			a.Gates++
			if v := last[k].Valid; v != nil && *v == want {
				a.GatesRight++
			}
		}
	}
	pass := rules.GatePass
	if pass == 0 {
		pass = 1
	}
	for _, a := range people {
		a.Passed = float64(a.GatesRight) >= pass*float64(a.Gates)
	}
	for _, k := range keys {
		if _, gate := rules.Gates[k.item]; gate {
			continue
		}
		v := last[k]
		switch {
		case !people[k.annotator].Passed:
			p.SetAside = append(p.SetAside, Aside{v, AsideGate})
			continue
		case seconds[k] < rules.MinSeconds:
			p.SetAside = append(p.SetAside, Aside{v, AsideFast})
			continue
		}
		people[k.annotator].Votes++
		if n := len(p.Items); n == 0 || p.Items[n-1].ExampleID != k.item {
			p.Items = append(p.Items, ItemVotes{ExampleID: k.item})
		}
		it := &p.Items[len(p.Items)-1]
		it.Votes = append(it.Votes, v)
	}
	for _, a := range people {
		p.Annotators = append(p.Annotators, *a)
	}
	slices.SortFunc(p.Annotators, func(a, b Annotator) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

// earlier reports that a was cast before b, by their times; false if a time
// is missing or they are equal.
func earlier(a, b schemas.Vote) bool {
	ta, errA := time.Parse(time.RFC3339, a.Time)
	tb, errB := time.Parse(time.RFC3339, b.Time)
	return errA == nil && errB == nil && ta.Before(tb)
}

// Ballot counts the votes on an item.
func (iv ItemVotes) Ballot() Ballot {
	var b Ballot
	for _, v := range iv.Votes {
		switch {
		case v.Valid == nil:
			b.CannotSay++
		case *v.Valid:
			b.Yes++
		default:
			b.No++
		}
	}
	return b
}

// Accept decides an item by the panel's rules.
func (p Panel) Accept(iv ItemVotes) State {
	b := iv.Ballot()
	return Majority(b.Yes, b.No, p.Rules.minVotes())
}

// Agreement measures how far the annotators agree on whether items are valid.
func (p Panel) Agreement() AgreementScores {
	units := make([][]bool, len(p.Items))
	for i, iv := range p.Items {
		for _, v := range iv.Votes {
			if v.Valid != nil {
				units[i] = append(units[i], *v.Valid)
			}
		}
	}
	return Agree(units)
}

// SentenceBallot is the vote on one gold sentence.
type SentenceBallot struct {
	Set      string // error or contradicted
	Sentence int
	Ballot
	// Kept: strictly more than half of the marks say right. A sentence that
	// nobody marked stays.
	Kept bool
}

// SentenceMajorities decides each gold sentence of a set by the annotators'
// marks. A set of which nothing is kept rejects the item; that is the
// caller's to do.
func (iv ItemVotes) SentenceMajorities(set Side, gold []int) []SentenceBallot {
	out := make([]SentenceBallot, len(gold))
	for i, s := range gold {
		b := SentenceBallot{Set: set.String(), Sentence: s}
		for _, v := range iv.Votes {
			// Of two marks in one vote the last one counts, as with votes.
			var mark *bool
			for _, m := range v.Sentences {
				if m.Set == b.Set && m.Sentence == s {
					mark = &m.Valid
				}
			}
			switch {
			case mark == nil:
			case *mark:
				b.Yes++
			default:
				b.No++
			}
		}
		b.Kept = b.Yes > b.No || b.Yes+b.No == 0
		out[i] = b
	}
	return out
}
