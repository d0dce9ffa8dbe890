// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring/scoringtest"
)

// BenchmarkEvaluate reads and scores 100,000 predictions of 414 stories from
// JSON Lines; scripts/bench/score does a million against plain Python.
func BenchmarkEvaluate(b *testing.B) {
	rows := scoringtest.Rows(1, 414, 50)
	key := keyOf(b, rows...)
	var file []byte
	for p := range scoringtest.Plain(2, rows, 100000) {
		var err error
		if file, err = schemas.AppendLine(file, p); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(file)))
	for _, s := range Scorers {
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				ev, err := Evaluate(key, ReadPredictions(bytes.NewReader(file), ReadOptions{}), Options{Scorers: []Scorer{s}, Allow: Allow{Missing: true}})
				if err != nil {
					b.Fatal(err)
				}
				FlawedFictions.Score(ev.Sheets[0].Verdicts)
			}
		})
	}
}

func BenchmarkParsePrediction(b *testing.B) {
	rows := scoringtest.Rows(1, 414, 50)
	var file []byte
	for p := range scoringtest.Plain(2, rows, 1000) {
		file, _ = schemas.AppendLine(file, p)
	}
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		for _, err := range ReadPredictions(bytes.NewReader(file), ReadOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
