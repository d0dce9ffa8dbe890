// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// hiddenRelease writes a release whose sources 6 to 8 are hidden.
func hiddenRelease(t *testing.T, salt []byte) (dir, private string) {
	t.Helper()
	dir, private = filepath.Join(t.TempDir(), "r"), filepath.Join(t.TempDir(), "hidden")
	opt := WriteOptions{Salt: salt, HiddenDir: private, Hidden: []Table{table(splits.FlawedFictions, splits.Hidden, pairs(6, 9, splits.Hidden))}}
	if _, err := Write(context.Background(), dir, testManifest(t), []Table{table(splits.FlawedFictions, splits.Test, pairs(0, 6, splits.Test))}, opt); err != nil {
		t.Fatal(err)
	}
	return dir, private
}

func TestHiddenRows(t *testing.T) {
	salt, err := Salt(filepath.Join(t.TempDir(), "salt"))
	if err != nil {
		t.Fatal(err)
	}
	dir, private := hiddenRelease(t, salt)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Manifest.Hidden) != 6 {
		t.Fatalf("%d commitments", len(r.Manifest.Hidden))
	}
	// No file of the release holds a hidden text, source or the salt.
	keep, err := snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n, b := range keep {
		for _, secret := range [][]byte{[]byte("tales:source-007"), []byte("on day 7."), salt} {
			if bytes.Contains(b, secret) {
				t.Errorf("%s holds %q", n, secret)
			}
		}
	}
	for _, c := range []struct {
		name   string
		checks Checks
		says   string
	}{
		{"the right salt", Checks{HiddenDir: private, Salt: salt}, ""},
		{"another salt", Checks{HiddenDir: private, Salt: bytes.Repeat([]byte{1}, saltBytes)}, "or the salt is another"},
		{"rows that are not there", Checks{HiddenDir: filepath.Join(private, "no"), Salt: salt}, "open release"},
	} {
		rep, err := VerifyWith(context.Background(), dir, c.checks)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(rep.Problems); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: want %q in:\n%s", c.name, c.says, got)
		}
	}
	// A row changed afterwards is found, whoever made the hidden folder anew.
	list := pairs(6, 9, splits.Hidden)
	list[2].Title = "Changed"
	other := filepath.Join(t.TempDir(), "other")
	if _, err := Write(context.Background(), other, testManifest(t), []Table{table(splits.FlawedFictions, splits.Hidden, list[:5])}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	rep, err := VerifyWith(context.Background(), dir, Checks{HiddenDir: other, Salt: salt})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{list[2].ExampleID + " of flawed_fictions is not the row", list[5].ExampleID + " of flawed_fictions, which the release committed to, is missing"} {
		if !strings.Contains(lines(rep.Problems), want) {
			t.Errorf("want %q in:\n%s", want, lines(rep.Problems))
		}
	}
}

func TestSalt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "salt")
	a, err := Salt(path)
	b, err2 := Salt(path)
	if err != nil || err2 != nil || !bytes.Equal(a, b) || len(a) != saltBytes {
		t.Errorf("%x %v, %x %v", a, err, b, err2)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the salt: %v %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Salt(path); err == nil {
		t.Error("a damaged salt was taken, or replaced")
	}
}

func TestDisjoint(t *testing.T) {
	earlier, err := Open(testRelease(t))
	if err != nil {
		t.Fatal(err)
	}
	const canary = "00000000-0000-4b7e-8f39-6d2b1c05e8a7"
	renamed := pairs(0, 1, splits.Test) // the same tale under another id, with a word changed
	for i := range renamed {
		renamed[i].GroupID = "books:hats"
		renamed[i].TextHash = "other"
		renamed[i].MatchID = "books:hats"
		renamed[i].ErrorSpans = nil
		renamed[i].Label = schemas.LabelConsistent
	}
	for _, c := range []struct {
		name         string
		rows         []schemas.Example
		source, flaw bool
		shared, near int
	}{
		{"other sources", pairs(40, 44, splits.Test), true, true, 0, 0},
		{"one source shared, with its plot hole", pairs(11, 14, splits.Test), false, false, 1, 0},
		{"a source shared, its plot hole not", []schemas.Example{row(3, schemas.VariantOriginal, splits.Test)}, false, true, 1, 0},
		{"a source under another name", renamed[:1], false, true, 0, 1},
	} {
		got, err := Disjoint(context.Background(), []Table{table("c", splits.Test, c.rows)}, canary, earlier)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0].Proof != schemas.ProofSource || got[0].Holds != c.source || got[1].Proof != schemas.ProofFlaw || got[1].Holds != c.flaw ||
			got[0].SharedSource != c.shared || got[0].NearText != c.near {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if _, err := Disjoint(context.Background(), nil, strings.ToUpper(testCanary), earlier); !errors.Is(err, ErrCanary) {
		t.Errorf("the same canary: %v", err)
	}
}

// A proof in the manifest is computed again, and one that lies is found.
func TestVerifyAgainst(t *testing.T) {
	dir := testRelease(t)
	earlier, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := testManifest(t)
	m.Canary, m.Recipe.Canary = "00000000-0000-4b7e-8f39-6d2b1c05e8a7", "00000000-0000-4b7e-8f39-6d2b1c05e8a7"
	m.RecipeHash, _ = RecipeHash(m.Recipe)
	list := pairs(10, 15, splits.Test) // 10 and 11 are in the earlier one
	for i := range list {
		list[i].Canary = m.Canary
	}
	tables := []Table{table(splits.FlawedFictions, splits.Test, list)}
	if m.Overlap, err = Disjoint(context.Background(), tables, m.Canary, earlier); err != nil {
		t.Fatal(err)
	}
	for _, lie := range []bool{false, true} { // the lie stays in the manifest
		name := fmt.Sprint("lie=", lie)
		if lie {
			m.Overlap[0].SharedSource, m.Overlap[0].Holds = 0, true
		}
		now := filepath.Join(t.TempDir(), name)
		if _, err := Write(context.Background(), now, m, tables, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		rep, err := VerifyWith(context.Background(), now, Checks{Against: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(rep.Problems); strings.Contains(got, "source_disjoint against hats@1.0.0") != lie {
			t.Errorf("%s:\n%s", name, got)
		}
		if !lie && !rep.OK() {
			t.Errorf("%s:\n%s", name, lines(rep.Problems))
		}
		m.Overlap = append([]schemas.Overlap{}, m.Overlap...)
	}
}
