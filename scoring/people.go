// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// PeopleReport sets people beside systems, on the rows that people answered.
type PeopleReport struct {
	Rows       int          `json:"rows"`
	Annotators int          `json:"annotators"`
	Least      int          `json:"least"` // annotators of a row
	Most       int          `json:"most"`
	Lines      []PeopleLine `json:"lines"`
}

// PeopleLine is a line of the table: people, or a system on the same rows.
type PeopleLine struct {
	Name   string  `json:"name"`
	Scorer string  `json:"scorer"`
	Scores []Score `json:"scores"` // with intervals
}

// Names of people's two lines.
const (
	PeopleMajority = "people, majority"
	PeopleSingle   = "people, mean of single answers"
)

// People scores people's answers as [Human] does and the evaluated systems on
// the rows they answered, with intervals from the same resamples.
func People(key *Key, ev *Evaluation, answers []schemas.Prediction, s Suite, r Resampling) (PeopleReport, error) {
	var rep PeopleReport
	var names []string
	for _, a := range answers {
		if !slices.Contains(names, a.Model) {
			names = append(names, a.Model)
		}
	}
	rep.Annotators = len(names)
	var scorers []Scorer
	for _, sh := range ev.Sheets {
		if !slices.ContainsFunc(scorers, func(s Scorer) bool { return s.Name == sh.Scorer.Name }) {
			scorers = append(scorers, sh.Scorer)
		}
	}
	var lists [][]Verdict
	for _, scorer := range scorers {
		rows, err := Human(key, scorer, answers)
		if err != nil {
			return rep, err
		}
		rep.Rows, rep.Least, rep.Most = len(rows.Majority), rows.Least, rows.Most
		answered := map[string]bool{}
		for _, v := range rows.Majority {
			answered[v.Item.ID] = true
		}
		rep.Lines = append(rep.Lines, PeopleLine{Name: PeopleMajority, Scorer: scorer.Name}, PeopleLine{Name: PeopleSingle, Scorer: scorer.Name})
		lists = append(lists, rows.Majority, rows.Single)
		for _, sh := range ev.Sheets {
			if sh.Scorer.Name != scorer.Name {
				continue
			}
			var same []Verdict
			for _, v := range sh.Verdicts {
				if answered[v.Item.ID] {
					same = append(same, v)
				}
			}
			rep.Lines = append(rep.Lines, PeopleLine{Name: sh.Run.String(), Scorer: scorer.Name})
			lists = append(lists, same)
		}
	}
	for i, scores := range s.Bootstrap(r, lists...) {
		rep.Lines[i].Scores = scores
	}
	return rep, nil
}

// AuditReport is a re-review with every system's figures on all rows and
// without the rows in which people accepted somebody's claim.
type AuditReport struct {
	Claims   int            `json:"claims"`
	Votes    int            `json:"votes"`     // that count
	SetAside map[string]int `json:"set_aside"` // votes by reason
	// Excluded rows, for all systems alike, by id.
	Excluded []string    `json:"excluded"`
	Rows     []ReviewRow `json:"rows"`
	Lines    []AuditLine `json:"lines"`
}

// AuditLine are one run's figures both ways.
type AuditLine struct {
	Run     Run     `json:"run"`
	Scorer  string  `json:"scorer"`
	All     []Score `json:"all"`
	Audited []Score `json:"audited"`
}

// Audit counts the votes on claims (their example_id is the claim's id) and
// scores all systems with and without the rows whose claims people accepted.
func Audit(claims []Claim, votes []schemas.Vote, minVotes int, ev *Evaluation, s Suite, r Resampling) AuditReport {
	hashes := map[string]string{}
	for _, c := range claims {
		hashes[c.ID] = c.TextHash
	}
	panel := CountVotes(votes, VoteRules{MinVotes: minVotes, TextHash: func(id string) (string, bool) { h, ok := hashes[id]; return h, ok }})
	review := Rereview(claims, panel)
	rep := AuditReport{Claims: len(claims), SetAside: map[string]int{}, Rows: review.Rows, Excluded: []string{}}
	for _, a := range panel.SetAside {
		rep.SetAside[a.Reason]++
	}
	for _, a := range panel.Annotators {
		rep.Votes += a.Votes
	}
	for id := range review.Accepted {
		rep.Excluded = append(rep.Excluded, id)
	}
	slices.Sort(rep.Excluded)
	var all, audited [][]Verdict
	for _, sh := range ev.Sheets {
		rep.Lines = append(rep.Lines, AuditLine{Run: sh.Run, Scorer: sh.Scorer.Name})
		all = append(all, sh.Verdicts)
		audited = append(audited, Without(sh.Verdicts, review.Accepted))
	}
	withAll, without := s.Bootstrap(r, all...), s.Bootstrap(r, audited...)
	for i := range rep.Lines {
		rep.Lines[i].All, rep.Lines[i].Audited = withAll[i], without[i]
	}
	return rep
}
