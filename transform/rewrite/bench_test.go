// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"testing"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/rules"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

// BenchmarkStep makes a prompt of a tale of about 250 words by rules.
func BenchmarkStep(b *testing.B) {
	client, err := llm.New(llm.Options{Engine: rules.New()})
	if err != nil {
		b.Fatal(err)
	}
	s := story("lamp", "tales", schemas.KindStory, schemas.RedistributeText, lamp)
	step := Step(config())
	b.SetBytes(int64(len(lamp)))
	b.ReportAllocs()
	for b.Loop() {
		pass := transform.NewPass(7, StepName, s.StoryID, client, nil)
		if _, _, _, err := transform.Apply(context.Background(), step, pass, s); err != nil {
			b.Fatal(err)
		}
	}
}
