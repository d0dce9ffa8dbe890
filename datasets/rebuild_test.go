// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

func TestRebuild(t *testing.T) {
	dir := testRelease(t)
	build := func(tables []Table) func(context.Context, schemas.Recipe, string) error {
		return func(ctx context.Context, recipe schemas.Recipe, out string) error {
			m := testManifest(t)
			m.Recipe = recipe
			_, err := Write(ctx, out, m, tables, WriteOptions{})
			return err
		}
	}
	rep, err := Rebuild(context.Background(), dir, build(testTables()))
	if err != nil || !rep.OK() || rep.Rows != 28 || rep.Files != 5 {
		t.Fatalf("the same: %v, %+v", err, rep)
	}
	other := testTables()
	list := pairs(0, 12, splits.Test)
	list[3].Title = "Another"
	other[0] = table(splits.FlawedFictions, splits.Test, list)
	rep, err = Rebuild(context.Background(), dir, build(other[:2]))
	if err != nil {
		t.Fatal(err)
	}
	got := lines(rep.Problems)
	for _, want := range []string{"flawed_fictions/test: rebuilt it has 24 rows of digest", "few_shot/train: the rebuilt release does not have it",
		"data/flawed_fictions/test-00000-of-00003.parquet: rebuilt its"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
	boom := errors.New("boom")
	if _, err := Rebuild(context.Background(), dir, func(context.Context, schemas.Recipe, string) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("a build that fails: %v", err)
	}
}
