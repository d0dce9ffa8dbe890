// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

func TestFileOfOneTable(t *testing.T) {
	story, failed := "Zoë sat.\n", "refusal: no"
	rows := []schemas.Generated{
		{ID: 1, GeneratedID: "p1/m", GeneratedStory: &story, Notes: []string{}, LogProbs: json.RawMessage(`{}`)},
		{ID: 2, GeneratedID: "p2/m", GenerationError: &failed, Settings: []schemas.KeyValue{{Key: "top_k", Value: "20"}}},
	}
	seq := func() iter.Seq2[schemas.Generated, error] {
		return func(yield func(schemas.Generated, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	var buf bytes.Buffer
	n, err := WriteFile(&buf, seq(), [2]string{"retcon.record", "generated"})
	if err != nil || n != 2 {
		t.Fatalf("%d rows, %v", n, err)
	}
	path := filepath.Join(t.TempDir(), "g.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	rows[0].LogProbs = nil // raw JSON has no column
	var got []schemas.Generated
	for g, err := range ReadFile[schemas.Generated](path) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, g)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	var stories []any
	for m, err := range AnyRows(path) {
		if err != nil {
			t.Fatal(err)
		}
		stories = append(stories, m["generated_story"], m["generation_error"])
	}
	if diff := cmp.Diff([]any{story, nil, nil, failed}, stories); diff != "" {
		t.Errorf("as any rows: %s", diff)
	}
	for name, bad := range map[string][]byte{"cut": buf.Bytes()[:buf.Len()/2], "empty": nil, "text": []byte("id,story\n")} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range AnyRows(path) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
