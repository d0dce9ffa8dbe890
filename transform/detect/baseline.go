// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"fmt"
	"math/rand/v2"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// Baseline is a system that does not read.
type Baseline struct {
	Name string
	Doc  string
	// Judge fills label and lines for a text of n sentences. Rand is the text's
	// own stream.
	Judge func(n int, p *schemas.Prediction, r *rand.Rand)
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

// Predict is the baseline's answer for one text. It depends on seed and text
// alone.
func (b Baseline) Predict(t Text, seed uint64) schemas.Prediction {
	p := schemas.Prediction{ExampleID: t.ID, TextHash: t.TextHash, Model: b.Name, Outcome: "ok",
		ErrorLines: []string{}, ContradictedLines: []string{}}
	n := len(t.Sentences)
	if t.Sentences == nil {
		n = len(text.Sentences(t.Story))
	}
	b.Judge(n, &p, transform.Random(seed, "baseline-"+b.Name, t.ID))
	return p
}

func alwaysNo(_ int, p *schemas.Prediction, _ *rand.Rand) { p.Label = schemas.LabelConsistent }

func alwaysYes(_ int, p *schemas.Prediction, _ *rand.Rand) { p.Label = schemas.LabelError }

// random cites an ordered pair of sentences, the earlier one as contradicted,
// as every plot hole has it.
func random(n int, p *schemas.Prediction, r *rand.Rand) {
	if r.IntN(2) == 0 {
		p.Label = schemas.LabelConsistent
		return
	}
	p.Label = schemas.LabelError
	if n < 2 {
		return
	}
	i := r.IntN(n)
	j := r.IntN(n - 1)
	if j >= i {
		j++
	}
	p.ContradictedSentences, p.ErrorSentences = []int{min(i, j)}, []int{max(i, j)}
}
