// SPDX-License-Identifier: Apache-2.0

package scoring_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// rows are two rows of a config: a story with an error in its third sentence
// against the first, and the story it was made from.
func rows() []schemas.Example {
	row := func(id, last string) schemas.Example {
		sentences := []string{"Mara's lamp was made of brass.", "She lit it every evening.", last}
		e := schemas.Example{ExampleID: id, GroupID: "lamp", MatchID: "lamp", Variant: schemas.VariantOriginal,
			Label: schemas.LabelConsistent, Story: strings.Join(sentences, " ")}
		at := 0
		for _, s := range sentences {
			e.Sentences = append(e.Sentences, schemas.Bounds{Start: at, End: at + len(s)})
			at += len(s) + 1
		}
		return e
	}
	bad, good := row("rc-b", "Then she sold the tin lamp to a sailor."), row("rc-g", "Then she sold the brass lamp to a sailor.")
	bad.Label, bad.Variant, bad.MatchID = schemas.LabelError, schemas.VariantPatched, "lamp#1"
	bad.ErrorSpans = []schemas.Span{{Sentence: 2}}
	bad.ContradictedSpans = []schemas.Span{{Sentence: 0}}
	return []schemas.Example{bad, good}
}

// From a file of predictions to figures.
func Example() {
	key, err := scoring.KeyOf("lamps", rows()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	file := strings.NewReader(`
{"example_id":"rc-b","model":"m","outcome":"ok","label":"error","error_lines":["she sold the tin lamp"],"contradicted_lines":["Mara’s lamp was made of brass."]}
{"example_id":"rc-g","model":"m","outcome":"truncated"}
`)
	ev, err := scoring.Evaluate(key, scoring.ReadPredictions(file, scoring.ReadOptions{Name: "m.jsonl"}), scoring.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sheet := range ev.Sheets {
		fmt.Printf("%s, scorer %s\n", sheet.Run, sheet.Scorer.Name)
		for _, s := range scoring.FlawedFictions.Score(sheet.Verdicts)[:8] {
			fmt.Printf("  %-18s %s of %d\n", s.Metric, s, s.N)
		}
	}
	// Output:
	// m, scorer default
	//   accuracy           0.500 of 2
	//   accuracy_answered  1.000 of 1
	//   coverage           0.500 of 2
	//   precision          1.000 of 1
	//   recall             1.000 of 1
	//   f1                 1.000 of 2
	//   ceeval_pos         1.000 of 1
	//   ceeval_full        0.500 of 2
}

// Predictions that do not fit are an error that names them.
func ExampleEvaluate_binding() {
	key, _ := scoring.KeyOf("lamps", rows()...)
	file := strings.NewReader(`{"example_id":"rc-b","model":"m","outcome":"ok","label":"error"}
{"example_id":"rc-other","model":"m","outcome":"ok","label":"error"}
`)
	_, err := scoring.Evaluate(key, scoring.ReadPredictions(file, scoring.ReadOptions{}), scoring.Options{})
	var bind *scoring.BindError
	fmt.Println(errors.As(err, &bind))
	fmt.Println(err)
	// Output:
	// true
	// predictions do not fit lamps:
	//   1 of rows that lamps does not hold (another config or release?): rc-other (prediction 2)
	//   1 of 2 rows have none: rc-g of m
}

func ExampleScorer_Sentences() {
	key, _ := scoring.KeyOf("lamps", rows()...)
	item := key.Item("rc-b")
	for _, quote := range []string{
		"“She lit it every evening. Then she sold the tin lamp",
		"Then she sold a tin lamp to a sailor.", // one word of nine is wrong
		"the tin lamp",                          // too short to be a quotation
		"",
	} {
		fmt.Printf("%q default %v compat %v\n", quote,
			scoring.Default.Sentences(item, []string{quote}), scoring.Compat.Sentences(item, []string{quote}))
	}
	// Output:
	// "“She lit it every evening. Then she sold the tin lamp" default [1 2] compat [1 2]
	// "Then she sold a tin lamp to a sailor." default [2] compat []
	// "the tin lamp" default [] compat [2]
	// "" default [] compat [0 1 2]
}

func ExampleReadDecision() {
	for _, s := range []string{
		"ANSWER: **Yes**",
		"No continuity error found",
		"There is a continuity error in the story concerning the lamp.",
		"ANSWER: Yes or No",
	} {
		fmt.Println(scoring.ReadDecision(s))
	}
	// Output:
	// error
	// consistent
	// error
	// invalid
}

func ExampleReadAnswer() {
	a := scoring.ReadAnswer(`<response>
<explanation>Brass, then tin.</explanation>
<error_lines>
- "Then she sold the tin lamp to a sailor."
</error_lines>
<contradicted_lines>Mara's lamp was made of brass.</contradicted_lines>
<decision>There is a continuity error in the story concerning the lamp.</decision>
</response>`, "stop")
	fmt.Println(a.Outcome, a.Label, a.ErrorLines, a.ContradictedLines)
	fmt.Println(scoring.ReadAnswer("<response><explanation>Brass, then", "length").Outcome)
	// Output:
	// ok error ["Then she sold the tin lamp to a sailor."] [Mara's lamp was made of brass.]
	// truncated
}

// Intervals and a comparison of two systems.
func ExampleCompareAll() {
	key, _ := scoring.KeyOf("lamps", rows()...)
	say := func(label string) scoring.System {
		s := scoring.System{Name: "always " + label}
		for _, it := range key.Items() {
			s.Verdicts = append(s.Verdicts, scoring.Default.Judge(it, &schemas.Prediction{Outcome: "ok", Label: label}))
		}
		return s
	}
	yes, no := say("error"), say("consistent")
	r := scoring.Resampling{Seed: 1}
	fmt.Println(scoring.FlawedFictions.Bootstrap(r, yes.Verdicts)[0][0])
	c := scoring.CompareAll(scoring.BalancedCEEval, []scoring.System{yes, no}, r)[0]
	fmt.Printf("%s against %s: %s, p %.2f\n", c.B, c.A, c.Diff, c.PermutationHolm)
	// Output:
	// 0.500 [0.500, 0.500]
	// always consistent against always error: 0.000 [0.000, 0.000], p 1.00
}

func ExampleAgree() {
	// Eight items 3:0, two 2:1. Everybody agrees, and kappa is negative.
	var items [][]bool
	for range 8 {
		items = append(items, []bool{true, true, true})
	}
	items = append(items, []bool{true, true, false}, []bool{false, true, true})
	a := scoring.Agree(items)
	fmt.Println(a.Raw, a.Fleiss)
	fmt.Println(scoring.Agree(items[:8]).Fleiss)
	// Output:
	// 0.867 -0.071
	// n/a
}

func ExampleHolm() {
	fmt.Printf("%.2f\n", scoring.Holm([]float64{0.01, 0.04, 0.03}))
	// Output: [0.03 0.06 0.06]
}

// Texts without gold: how often is an error claimed, against the originals?
func ExampleStudy() {
	var originals, texts []scoring.StudyText
	for i := range 100 {
		source := fmt.Sprint("story ", i)
		originals = append(originals, scoring.StudyText{Group: source, Answered: true, Error: i < 14})
		texts = append(texts, scoring.StudyText{Group: source, Task: "adaptation", System: "model", Answered: true, Error: i < 27})
	}
	for _, row := range scoring.Study(originals, texts, scoring.Resampling{Seed: 1}) {
		fmt.Println(row.Task, row.System, row.Rates.Base.Value, row.Rates.Rate.Value, "ratio", row.Rates.Ratio.Interval.Low > 1)
	}
	// Output: adaptation model 0.14 0.27 ratio true
}
