// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"fmt"
	"math/rand/v2"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Baseline is a system that does not read.
type Baseline struct {
	Name string
	Doc  string
	// Judge fills label and lines. Rand is the row's own stream.
	Judge func(e schemas.Example, p *schemas.Prediction, r *rand.Rand)
}

// EntailmentBaseline is the name of the baseline that needs a scorer of
// sentence pairs: [Entailment].
const EntailmentBaseline = "entailment"

// Baselines are those of the FlawedFictions paper, section 5.1, that need no
// scorer of sentence pairs.
var Baselines = []Baseline{
	{Name: "random", Doc: "says error for every second story, and cites one sentence on each side, drawn at random", Judge: random},
	{Name: "always-no", Doc: "always says that there is no error", Judge: alwaysNo},
	{Name: "always-yes", Doc: "always says error, and cites nothing", Judge: alwaysYes},
}

// FindBaseline finds a baseline by name.
func FindBaseline(name string) (Baseline, error) {
	var known []string
	for _, b := range Baselines {
		if b.Name == name {
			return b, nil
		}
		known = append(known, b.Name)
	}
	return Baseline{}, fmt.Errorf("no baseline is called %q (there are %v)", name, known)
}

// Predict is the baseline's answer for one row. It depends on seed and row
// alone.
func (b Baseline) Predict(e schemas.Example, seed uint64) schemas.Prediction {
	p := schemas.Prediction{ExampleID: e.ExampleID, TextHash: e.TextHash, Model: b.Name, Outcome: "ok",
		ErrorLines: []string{}, ContradictedLines: []string{}}
	b.Judge(e, &p, transform.Random(seed, "baseline-"+b.Name, e.ExampleID))
	return p
}

func alwaysNo(_ schemas.Example, p *schemas.Prediction, _ *rand.Rand) {
	p.Label = schemas.LabelConsistent
}

func alwaysYes(_ schemas.Example, p *schemas.Prediction, _ *rand.Rand) { p.Label = schemas.LabelError }

// random cites an ordered pair of sentences, the earlier one as contradicted,
// as every plot hole has it.
func random(e schemas.Example, p *schemas.Prediction, r *rand.Rand) {
	if r.IntN(2) == 0 {
		p.Label = schemas.LabelConsistent
		return
	}
	p.Label = schemas.LabelError
	if len(e.Sentences) < 2 {
		return
	}
	i := r.IntN(len(e.Sentences))
	j := r.IntN(len(e.Sentences) - 1)
	if j >= i {
		j++
	}
	p.ContradictedSentences, p.ErrorSentences = []int{min(i, j)}, []int{max(i, j)}
}
