// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

type recipe struct {
	Name string         `json:"name"`
	Make map[string]any `json:"make"`
	List []string       `json:"list"`
}

func TestWorkspaceIsOneRecipesAndOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "w")
	first := recipe{"a", map[string]any{"engine": "rules", "n": 2}, []string{"x"}}
	w, err := Open(dir, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, first); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "--work") {
		t.Errorf("second process: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = Open(dir, first); err != nil {
		t.Fatalf("the same recipe again: %v", err)
	}
	w.Close()
	_, err = Open(dir, recipe{"a", map[string]any{"engine": "openai", "n": 2, "kinds": 1}, []string{"y"}})
	var re *RecipeError
	if !errors.As(err, &re) || !slices.Equal(re.Keys, []string{"list[0]", "make.engine", "make.kinds"}) {
		t.Errorf("another recipe: %v", err)
	}
}

// A workspace outlives a version that knew fewer keys, as long as the new ones
// are unset; null and 0 are not the same.
// TestWithin: what lies in a workspace is told by the workspace's own files, not
// by names, and through links.
func TestWithin(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(filepath.Join(dir, "w"), map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, d := range []string{"w/deep/er", "plain", "only"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "only", recipeFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"w/set": true, "w/not/yet/there": true, "w/deep/er": true, "w/../plain/set": false,
		"plain/set": false, "plain": false, "w.set": false, "w-2/set": false, "only/set": false, ".": false}
	if err := os.Symlink(filepath.Join(dir, "plain"), filepath.Join(dir, "w", "out")); err == nil { // windows may not
		want["w/out/set"], want["w/out"] = false, false
		if err := os.Symlink(filepath.Join(dir, "w", "deep"), filepath.Join(dir, "plain", "in")); err != nil {
			t.Fatal(err)
		}
		want["plain/in/set"], want["plain/in"] = true, true
	}
	for path, within := range want {
		if got := Within(filepath.Join(dir, filepath.FromSlash(path))); got != within {
			t.Errorf("%s: %v, want %v", path, got, within)
		}
	}
	t.Chdir(filepath.Join(dir, "w"))
	if !Within("set") || Within(filepath.Join("..", "set")) {
		t.Error("a relative path is not taken from where the process stands")
	}
}

func TestDifferingKeys(t *testing.T) {
	type m = map[string]any
	for _, c := range []struct {
		a, b m
		want string
	}{
		{m{"seed": 1}, m{"seed": 1, "new": false, "list": []int{}, "more": m{}, "n": 0, "s": ""}, ""},
		{m{"make": m{"share": 1}}, m{"make": m{"share": 1, "type_flaws": true}}, "make.type_flaws"},
		{m{"t": nil}, m{"t": 0}, "t"},
		{m{"old": 3}, m{}, "old"},
		{m{"l": []int{1}}, m{"l": []int{2}}, "l[0]"},
	} {
		for _, swap := range []bool{false, true} {
			if swap {
				c.a, c.b = c.b, c.a
			}
			if got := strings.Join(DifferingKeys(c.a, c.b), " "); got != c.want {
				t.Errorf("%v, %v: %q, want %q", c.a, c.b, got, c.want)
			}
		}
	}
}

func TestStepAppearsWholeOrNotAtAll(t *testing.T) {
	w, err := Open(t.TempDir(), recipe{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fp := Fingerprint{Step: "dedup", Version: "1", Settings: 5, Inputs: []schemas.NamedHash{{Name: "in", SHA256: "00"}}}
	check := func(fp Fingerprint, want bool, wantWhy string) {
		t.Helper()
		_, ok, why, err := w.Current("20-dedup", fp)
		if err != nil || ok != want || !strings.Contains(why, wantWhy) {
			t.Errorf("Current = %v, %q, %v; want %v, %q", ok, why, err, want, wantWhy)
		}
	}
	check(fp, false, "no output")

	write := func(ids ...string) *Output {
		out, err := w.Begin("20-dedup")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if err := out.Record(id, schemas.Section{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	out := write("a", "b")
	if _, err := os.Stat(w.Step("20-dedup")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the step shows before it is published")
	}
	if err := out.Record("a", 1); err == nil {
		t.Error("a repeated id was taken")
	}
	if err := out.Record("x\ty", 1); err == nil {
		t.Error("an id with a tab was taken")
	}
	if err := out.Record("bad", schemas.Section{ID: "\xff"}); !errors.Is(err, schemas.ErrInvalidUTF8) {
		t.Errorf("invalid UTF-8: %v", err)
	}
	if err := out.Drop(schemas.Dropped{ID: "c", Stage: "dedup", Reason: "exact"}); err != nil {
		t.Fatal(err)
	}
	m, err := fp.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m, err = out.Publish(m); err != nil {
		t.Fatal(err)
	}
	if m.Out != 2 || m.Dropped != 1 || !slices.Equal(m.Reasons, []schemas.Count{{Name: "dedup/exact", N: 1}}) {
		t.Errorf("manifest counts: %+v", m)
	}
	check(fp, true, "")
	for _, c := range []struct {
		why    string
		change func(*Fingerprint)
	}{
		{"made by", func(f *Fingerprint) { f.Version = "2" }},
		{"settings", func(f *Fingerprint) { f.Settings = 6 }},
		{"templates", func(f *Fingerprint) { f.Templates = []schemas.NamedHash{{Name: "t"}} }},
		{"inputs", func(f *Fingerprint) { f.Inputs = nil }},
	} {
		other := fp
		c.change(&other)
		check(other, false, c.why)
	}

	// A run that dies half way leaves the old output, and the next Open sweeps.
	write("z")
	check(fp, true, "")
	for _, name := range []string{".recipe.json.123.tmp", ".requests.jsonl-456.new~", "dedup-789.new~"} {
		if err := os.WriteFile(filepath.Join(w.Dir(), name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if w, err = Open(w.Dir(), recipe{}); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(w.Dir())
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), newSuffix) || strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	// A second publication replaces the first.
	if _, err := write("a", "b", "d").Publish(m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range Records[schemas.Section](w.Step("20-dedup")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, got); diff != "" {
		t.Error(diff)
	}
	ix, err := OpenIndex[schemas.Section](w.Step("20-dedup"))
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if s, err := ix.Get("d"); err != nil || s.ID != "d" {
		t.Errorf("Get(d) = %+v, %v", s, err)
	}
	if _, err := ix.Get("c"); err == nil {
		t.Error("Get found a record that is not there")
	}
	// A file in which a byte is another is not current, though its size is the
	// same, and a cut one is not; reading that names the line.
	path := filepath.Join(w.Step("20-dedup"), RecordsFile)
	check(fp, true, "")
	for _, name := range []string{RecordsFile, IndexFile} {
		p := filepath.Join(w.Step("20-dedup"), name)
		whole, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		other := slices.Clone(whole)
		other[len(other)/2] ^= 1
		if err := os.WriteFile(p, other, 0o644); err != nil {
			t.Fatal(err)
		}
		check(fp, false, name+" is not what")
		if err := os.WriteFile(p, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path, 30); err != nil {
		t.Fatal(err)
	}
	check(fp, false, RecordsFile)
	var last error
	for _, err := range Records[schemas.Section](w.Step("20-dedup")) {
		last = err
	}
	if fetch.KindOf(last) != fetch.Input || !strings.Contains(last.Error(), ":2") && !strings.Contains(last.Error(), ":1") {
		t.Errorf("reading a cut file: %v", last)
	}
}
