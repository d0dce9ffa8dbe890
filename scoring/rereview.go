// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Claim is an error that a system claims in an original story: a false
// positive by the gold labels, which people may find true. It is what a
// re-review shows.
type Claim struct {
	// ID is a hash of example, system and sample: votes bind to it (their
	// example_id is the claim's id), and it tells annotators no model's name.
	ID                string   `json:"claim_id"`
	ExampleID         string   `json:"example_id"`
	TextHash          string   `json:"text_hash"`
	Model             string   `json:"model"`
	Prompt            string   `json:"prompt"`
	Sample            int      `json:"sample"`
	Explanation       string   `json:"explanation"`
	ErrorLines        []string `json:"error_lines"`
	ContradictedLines []string `json:"contradicted_lines"`
}

// Claims picks the claims on originals out of predictions, by claim id, which
// is a shuffle.
func Claims(key *Key, preds iter.Seq2[schemas.Prediction, error]) ([]Claim, error) {
	var out []Claim
	n := 0
	for p, err := range preds {
		if err != nil {
			return nil, err
		}
		n++
		it := key.Item(p.ExampleID)
		if it == nil {
			return nil, fmt.Errorf("prediction %d: %s holds no row %q", n, key.Config, p.ExampleID)
		}
		if it.Error || it.Variant != schemas.VariantOriginal || !usable(p.Outcome) || p.Label != schemas.LabelError {
			continue
		}
		out = append(out, Claim{
			ID: ClaimID(p.ExampleID, p.Model, p.Prompt, p.Sample), ExampleID: p.ExampleID, TextHash: it.TextHash,
			Model: p.Model, Prompt: p.Prompt, Sample: p.Sample, Explanation: p.Explanation,
			ErrorLines: p.ErrorLines, ContradictedLines: p.ContradictedLines,
		})
	}
	slices.SortFunc(out, func(a, b Claim) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// ClaimID names a claim: "fp-" and 16 letters.
func ClaimID(exampleID, model, prompt string, sample int) string {
	b, err := json.Marshal([]any{exampleID, model, prompt, sample})
	if err != nil {
		panic(err) // strings and a number
	}
	sum := sha256.Sum256(b)
	return "fp-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// Review is a re-review, counted.
type Review struct {
	// Accepted are the ids of examples in which people accepted some system's
	// claim. They go for all systems alike: to drop them only for the system
	// that saw the error would reward it twice.
	Accepted map[string]bool
	Rows     []ReviewRow // by model, then prompt; table E.3
}

// ReviewRow is one system's line in table E.3 and in the table of error kinds.
type ReviewRow struct {
	Model    string `json:"model"`
	Prompt   string `json:"prompt"`
	Claims   int    `json:"claims"`   // all claims, reviewed or not
	Reviewed int    `json:"reviewed"` // with a decision
	Accepted int    `json:"accepted"`
	Rate     Score  `json:"rate"` // Accepted/Reviewed
	// Kinds counts rejected claims by [schemas.ErrorKinds]: the kind that
	// more than half of the annotators who rejected the claim gave.
	Kinds map[string]int `json:"kinds"`
	// NoKind counts rejected claims whose annotators named none or disagreed.
	NoKind int `json:"no_kind"`
}

// Rereview counts the votes on claims. Undecided claims are not reviewed yet;
// votes on other things are none of its business.
func Rereview(claims []Claim, p Panel) Review {
	votes := map[string]ItemVotes{}
	for _, iv := range p.Items {
		votes[iv.ExampleID] = iv
	}
	r := Review{Accepted: map[string]bool{}}
	type system struct{ model, prompt string }
	rows := map[system]*ReviewRow{}
	for _, c := range claims {
		s := system{c.Model, c.Prompt}
		row := rows[s]
		if row == nil {
			row = &ReviewRow{Model: c.Model, Prompt: c.Prompt, Kinds: map[string]int{}}
			rows[s] = row
		}
		row.Claims++
		iv := votes[c.ID]
		switch p.Accept(iv) {
		case Accepted:
			row.Reviewed++
			row.Accepted++
			r.Accepted[c.ExampleID] = true
		case Rejected:
			row.Reviewed++
			if kind := kindOf(iv); kind != "" {
				row.Kinds[kind]++
			} else {
				row.NoKind++
			}
		}
	}
	for _, row := range rows {
		row.Rate = Score{
			Metric: "accepted_rate", Value: ratio(float64(row.Accepted), float64(row.Reviewed)),
			N: row.Reviewed, Skipped: row.Claims - row.Reviewed,
		}
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b ReviewRow) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Prompt, b.Prompt))
	})
	return r
}

func kindOf(iv ItemVotes) string {
	counts := map[string]int{}
	rejecting := 0
	for _, v := range iv.Votes {
		if v.Valid != nil && !*v.Valid {
			rejecting++
			counts[v.Kind]++
		}
	}
	for _, kind := range schemas.ErrorKinds {
		if 2*counts[kind] > rejecting {
			return kind
		}
	}
	return ""
}

// Audited are a suite's scores with and without the accepted false positives.
type Audited struct {
	All, Audited []Score
	Excluded     int // verdicts left out of Audited
}

// Audited scores one system both ways; print both columns.
func (s Suite) Audited(vs []Verdict, r Review) Audited {
	kept := Without(vs, r.Accepted)
	return Audited{All: s.Score(vs), Audited: s.Score(kept), Excluded: len(vs) - len(kept)}
}

// Without returns the verdicts on examples that are not in ids.
func Without(vs []Verdict, ids map[string]bool) []Verdict {
	out := make([]Verdict, 0, len(vs))
	for _, v := range vs {
		if !ids[v.Item.ID] {
			out = append(out, v)
		}
	}
	return out
}
