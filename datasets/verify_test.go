// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

func TestReleaseVerifies(t *testing.T) {
	dir := testRelease(t)
	rep := mustVerify(t, dir)
	if !rep.OK() || rep.Rows != 28 || rep.Spans != 3*14 {
		t.Fatalf("%d rows, %d spans, problems %v", rep.Rows, rep.Spans, rep.Problems)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Split(splits.FlawedFictions, splits.Test)
	if err != nil || len(s.Files) != 3 {
		t.Fatalf("%d shards, %v", len(s.Files), err)
	}
	var got []schemas.Example
	for e, err := range Rows[schemas.Example](r, splits.FlawedFictions, splits.Test) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(pairs(0, 12, splits.Test), got); diff != "" {
		t.Errorf("rows read are not those written: %s", diff)
	}
}

// The same tables give the same bytes.
func TestSameBytes(t *testing.T) {
	a, b := testRelease(t), testRelease(t)
	names, err := listFiles(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		x, errX := HashFile(a, n)
		y, errY := HashFile(b, n)
		if errX != nil || errY != nil || x != y {
			t.Errorf("%s: %v %v, %v %v", n, x, errX, y, errY)
		}
	}
}

// Every problem names file, row and reason.
func TestVerifyNames(t *testing.T) {
	shard := func(n int) string { return fmt.Sprintf("data/flawed_fictions/test-%05d-of-00003.parquet", n) }
	edit := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("%s does not hold %q", name, old)
			}
			if err := os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(name, content string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			write(t, dir, name, func(w io.Writer) error { _, err := io.WriteString(w, content); return err })
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap := func(a, b string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			x, y, tmp := filepath.Join(dir, a), filepath.Join(dir, b), filepath.Join(dir, "tmp")
			for _, mv := range [][2]string{{x, tmp}, {y, x}, {tmp, y}} {
				if err := os.Rename(mv[0], mv[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		level  int
		file   string
		reason string
	}{
		{"missing shard", remove(shard(1)), asIs, shard(1), "listed in SHA256SUMS but missing"},
		{"missing shard, sums made again", remove(shard(1)), hashes, shard(1), "in the manifest but missing"},
		{"missing card", remove(CardFile), hashes, CardFile, "the file is missing"},
		{"missing sums", remove(SumsFile), asIs, SumsFile, "the file is missing"},
		{"extra file", put("logs/run.eval", "x"), asIs, "logs/run.eval", "not listed"},
		{"extra file, sums made again", put("logs/run.eval", "x"), hashes, "logs/run.eval", "no part of a release"},
		{"extra shard", put("data/flawed_fictions/test-00003-of-00003.parquet", "x"), hashes, "data/flawed_fictions/test-00003-of-00003.parquet", "no config names"},
		{"swapped shards", swap(shard(0), shard(1)), asIs, shard(0), "they are those of " + shard(1)},
		{"swapped shards, hashes made again", swap(shard(0), shard(1)), hashes, shard(1), "does not follow"},
		{"swapped shards, all made again", swap(shard(0), shard(1)), sidecar2, ManifestFile, "the rows' digest is"},
		{"stub of a crash", put(shard(2), "PAR1\x00\x00\x00\x00"), sidecar2, shard(2), "no Parquet file"},
		{"C57: another count in the card", edit(CardFile, "num_examples: 24", "num_examples: 25"), hashes, CardFile, "25 rows in split test, its files hold 24"},
		{"C58: a hyphen in a split's name", edit(CardFile, "split: test", "split: test-hidden"), hashes, CardFile, "(try test_hidden)"},
		{"C59: no configs", edit(CardFile, "\nconfigs:", "\nkonfigs:"), hashes, CardFile, "konfigs"},
		{"another licence in the card", edit(CardFile, "license: cc0-1.0", "license: mit"), hashes, CardFile, "licence"},
		{"another type in the card", edit(CardFile, "dtype: float64", "dtype: int64"), hashes, CardFile, "features are not those of the files"},
		{"a word in the card", edit(CardFile, "plot holes", "plot wholes"), hashes, CardFile, "not what manifest and rows give"},
		{"a row count in the manifest", edit(ManifestFile, `"rows": 24`, `"rows": 25`), sidecar2, ManifestFile, "24"},
		{"a drop in the manifest", edit(ManifestFile, `"n": 2`, `"n": 3`), sidecar2, ManifestFile, "reasons for 3"},
		{"another canary", edit(ManifestFile, testCanary, "00000000-90de-4b7e-8f39-6d2b1c05e8a7"), sidecar2, ManifestFile, "not the recipe's"},
		{"a manifest that is none", put(ManifestFile, "{"), sidecar2, ManifestFile, "cannot be read"},
		{"a path out of the release", edit(ManifestFile, shard(0), "../"+shard(0)), sidecar2, ManifestFile, "leaves the release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := testRelease(t)
			rows := summaryOf(t, dir)
			c.change(t, dir)
			reseal(t, dir, c.level, rows)
			rep := mustVerify(t, dir)
			if !slices.ContainsFunc(rep.Problems, func(p Problem) bool { return p.File == c.file && strings.Contains(p.Reason, c.reason) }) {
				t.Errorf("no problem of %s says %q; found:\n%v", c.file, c.reason, lines(rep.Problems))
			}
		})
	}
}

func lines(ps []Problem) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString("  " + p.String() + "\n")
	}
	return b.String()
}

// C59 as told: no YAML at all, and a log beside the data.
func TestLintWithoutConfigs(t *testing.T) {
	dir := testRelease(t)
	write(t, dir, CardFile, func(w io.Writer) error { _, err := io.WriteString(w, "# A card\n"); return err })
	write(t, dir, "logs/run.eval", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err })
	reseal(t, dir, hashes, nil)
	want := "logs/run.eval: without configs in README.md this file would become a split called logs"
	if got := lines(mustVerify(t, dir).Problems); !strings.Contains(got, want) {
		t.Errorf("want %q in:\n%s", want, got)
	}
}

// Rows that do not hold are refused on write, and found by Verify when some
// other program wrote them.
func TestRowsThatDoNotHold(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *schemas.Example)
		reason string
	}{
		{"C26: a span past the text", func(e *schemas.Example) { e.ErrorSpans[0].End += 9; e.ErrorSpans[0].ByteEnd += 9 }, "error_spans[0]"},
		{"a span of another unit", func(e *schemas.Example) { e.ErrorSpans[0].UTF16Start++ }, "UTF-16"},
		{"half a sentence", func(e *schemas.Example) {
			s := &e.ContradictedSpans[0]
			s.End, s.ByteEnd, s.UTF16End, s.Text = s.End-1, s.ByteEnd-1, s.UTF16End-1, s.Text[:len(s.Text)-1]
		}, "is not sentence 0"},
		{"C22: CRLF", func(e *schemas.Example) { e.Story = strings.Replace(e.Story, "\n", "\r\n", 1) }, "text_hash"},
		{"another label", func(e *schemas.Example) { e.ContError = 0 }, "cont_error is 0"},
		{"no text allowed", func(e *schemas.Example) { e.Source.Redistribute = schemas.RedistributeIDs }, `"ids", not the text`},
		{"no credit", func(e *schemas.Example) { e.Source.Licence = "CC-BY-SA-4.0" }, "asks for attribution"},
		{"C15: residue", func(e *schemas.Example) { e.Title = "Visit www.gutenberg.org for more." }, "gutenberg.org"},
		{"another canary", func(e *schemas.Example) { e.Canary = "x" }, "canary"},
		{"another version", func(e *schemas.Example) { e.DatasetVersion = "2.0.0" }, "dataset_version"},
		{"another split", func(e *schemas.Example) { e.Split = "train" }, `says split "train"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := pairs(0, 3, splits.Test)
			at := slices.IndexFunc(list, func(e schemas.Example) bool { return e.Label == schemas.LabelError })
			c.change(&list[at])
			m, tables := testManifest(t), []Table{table(splits.FlawedFictions, splits.Test, list)}
			dir := filepath.Join(t.TempDir(), "r")
			_, err := Write(context.Background(), dir, m, tables, WriteOptions{})
			if err == nil || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), list[at].ExampleID) {
				t.Errorf("Write: %v; want the row's id and %q", err, c.reason)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a folder appeared")
			}
			uncheckedWrite(t, dir, m, tables)
			found := slices.ContainsFunc(mustVerify(t, dir).Problems, func(p Problem) bool {
				return p.File == "data/flawed_fictions/test-00000-of-00001.parquet" && p.Row == at && p.ID == list[at].ExampleID && strings.Contains(p.Reason, c.reason)
			})
			if !found {
				t.Errorf("Verify does not name row %d and %q:\n%s", at, c.reason, lines(mustVerify(t, dir).Problems))
			}
		})
	}
}

// uncheckedWrite is a writer that does not look at its rows.
func uncheckedWrite(t *testing.T, dir string, m schemas.Manifest, tables []Table) {
	t.Helper()
	skipRowChecks = true
	defer func() { skipRowChecks = false }()
	if _, err := Write(context.Background(), dir, m, tables, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A source must not stand on two sides of a cut, in whichever configs.
func TestGroupLeakage(t *testing.T) {
	for name, tables := range map[string][]Table{
		"few-shot and test": {table(splits.FlawedFictions, splits.Test, pairs(0, 4, splits.Test)), table(splits.FewShot, splits.Train, pairs(3, 5, splits.Train))},
		"two configs":       {table(splits.FlawedFictions, splits.Test, pairs(0, 4, splits.Test)), table(splits.Long, splits.Hidden, pairs(3, 5, splits.Hidden))},
		"few-shot and another train": {table(splits.FewShot, splits.Train, pairs(0, 2, splits.Train)), table(splits.Long, splits.Train, pairs(1, 3, splits.Train)),
			table(splits.FlawedFictions, splits.Test, pairs(7, 8, splits.Test))},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r")
			uncheckedWrite(t, dir, testManifest(t), tables)
			got := lines(mustVerify(t, dir).Problems)
			if n := strings.Count(got, "no source may stand on two sides of a cut"); n != 2 {
				t.Errorf("%d rows named, want the two of the shared source:\n%s", n, got)
			}
		})
	}
}

// The one way to keep a flagged mention is to list the row.
func TestResidueException(t *testing.T) {
	list := pairs(0, 3, splits.Test)
	list[1].Title = "A book that begins with Project Gutenberg"
	m := testManifest(t)
	m.Recipe.Release.Residue = []string{list[1].ExampleID, "rc-nobody"}
	m.RecipeHash, _ = RecipeHash(m.Recipe)
	dir := filepath.Join(t.TempDir(), "r")
	if _, err := Write(context.Background(), dir, m, []Table{table(splits.FlawedFictions, splits.Test, list)}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	rep := mustVerify(t, dir)
	if !rep.OK() || !slices.ContainsFunc(rep.Notes, func(s string) bool { return strings.Contains(s, "rc-nobody") }) {
		t.Errorf("problems:\n%snotes: %q", lines(rep.Problems), rep.Notes)
	}
}

// summaryOf reads what the sidecars are made from.
func summaryOf(t testing.TB, dir string) *summary {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	sum := newSummary()
	for _, c := range r.Manifest.Configs {
		for _, s := range c.Splits {
			for e, err := range Rows[schemas.Example](r, c.Name, s.Name) {
				if err != nil {
					t.Fatal(err)
				}
				sum.add(c.Name, s.Name, e)
			}
		}
	}
	return sum
}

var (
	flips     = flag.Int("flips", 25, "byte flips a level in TestFlips")
	flipsIn   = flag.String("release", "", "release folder to damage a copy of in TestFlips; default: the fixture")
	flipsSeed = flag.Uint64("flip-seed", 1, "seed of TestFlips")
)

// Damage of a single byte is found, or the rows are the same; whatever a
// forger recomputes. scripts/corrupt runs this 2,000 times a level.
func TestFlips(t *testing.T) {
	dir := testRelease(t)
	if *flipsIn != "" {
		dir = filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(*flipsIn)); err != nil {
			t.Fatal(err)
		}
	}
	if rep := mustVerify(t, dir); !rep.OK() {
		t.Fatalf("it does not verify before any damage:\n%s", lines(rep.Problems))
	}
	rows := summaryOf(t, dir)
	before, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	digest := LogicalDigest(before.Manifest)
	keep, err := snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for level, what := range []string{"as it is", "sums and manifest hashes made again", "card and all sidecars made again"} {
		// A file that the forger makes again is not damaged: flips go to those
		// that stay as they were flipped.
		var names []string
		total := 0
		for n, b := range keep {
			if level >= hashes && n == SumsFile || level == sidecar2 && n != ManifestFile && !strings.HasPrefix(n, "data/") {
				continue
			}
			names = append(names, n)
			total += len(b)
		}
		slices.Sort(names)
		r := rand.New(rand.NewPCG(*flipsSeed, uint64(level)))
		found, same := 0, 0
		for i := range *flips {
			at := r.IntN(total)
			name := names[0]
			for _, n := range names {
				if at < len(keep[n]) {
					name = n
					break
				}
				at -= len(keep[n])
			}
			b := slices.Clone(keep[name])
			b[at] ^= byte(1 + r.IntN(255))
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), b, 0o644); err != nil {
				t.Fatal(err)
			}
			reseal(t, dir, level, rows)
			rep, err := Verify(context.Background(), dir)
			switch {
			case err != nil || !rep.OK():
				found++
				if level == asIs && err == nil && !slices.ContainsFunc(rep.Problems, func(p Problem) bool { return p.File == name }) && name != SumsFile {
					t.Errorf("flip %d, byte %d of %s: the file is not named:\n%s", i, at, name, lines(rep.Problems))
				}
			default:
				after, err := Open(dir)
				if err != nil || LogicalDigest(after.Manifest) != digest || level == asIs {
					t.Errorf("%s: flip %d, byte %d of %s, is not found, and the rows are others", what, i, at, name)
				}
				same++
			}
			if err := restore(dir, keep); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%-40s %d flips: %d found, %d not found with the rows' digest equal", what, *flips, found, same)
	}
}

func snapshot(dir string) (map[string][]byte, error) {
	names, err := listFiles(dir)
	keep := map[string][]byte{}
	for _, n := range names {
		if keep[n], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(n))); err != nil {
			return nil, err
		}
	}
	return keep, err
}

func restore(dir string, keep map[string][]byte) error {
	for n, b := range keep {
		path := filepath.Join(dir, filepath.FromSlash(n))
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, b) {
			continue
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A footer may claim anything; what it claims is not allocated.
func TestHostileFooters(t *testing.T) {
	dir := testRelease(t)
	good, err := os.ReadFile(filepath.Join(dir, "data/flawed_fictions/test-00000-of-00003.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	tail := func(n uint32, footer ...byte) []byte {
		b := append([]byte("PAR1"), footer...)
		b = binary.LittleEndian.AppendUint32(b, n)
		return append(b, "PAR1"...)
	}
	huge := []byte{0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07} // field 1: a list of 2^31 structs
	deep := bytes.Repeat([]byte{0x1c}, 5000)                 // structs in structs
	for name, b := range map[string][]byte{
		"empty":                      {},
		"eight bytes":                []byte("PAR1\x00\x00\x00\x00"),
		"a footer of 4 GB":           tail(1<<32-1, 0),
		"a footer before the file":   tail(uint32(len(good)), good...),
		"a list of 2^31":             tail(uint32(len(huge)), huge...),
		"structs 5,000 deep":         tail(uint32(len(deep)), deep...),
		"an encrypted footer":        append(slices.Clone(good[:len(good)-4]), "PARE"...),
		"the data cut out":           append([]byte("PAR1"), good[len(good)-4000:]...),
		"the end cut off":            good[:len(good)-9],
		"half of it":                 append(slices.Clone(good[:len(good)/2]), good[len(good)-8:]...),
		"a magic in front, then air": append(bytes.Repeat([]byte("PAR1"), 100), make([]byte, 4096)...),
	} {
		t.Run(name, func(t *testing.T) {
			if err := scanParquet(bytes.NewReader(b), int64(len(b))); err == nil {
				t.Error("it was taken")
			}
		})
	}
	if err := scanParquet(bytes.NewReader(good), int64(len(good))); err != nil {
		t.Errorf("a good shard: %v", err)
	}
}

// What the scan lets through, the reader can take without a panic.
func FuzzReadShard(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x.parquet")
	list := NewTable("c", "s", "example", func(yield func(Bounds, error) bool) {
		for i := range 3 {
			if !yield(Bounds{i, i + 1}, nil) {
				return
			}
		}
	})
	for _, compression := range []string{"zstd", "snappy"} {
		dir := f.TempDir()
		info, err := list.write(dir, writeOptions{compression: compression}, func(reflect.Value) error { return nil })
		if err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, info.Files[0].Path))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("PAR1\x15\x00\x01\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if scanParquet(bytes.NewReader(b), int64(len(b))) != nil {
			return
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		for range readRows[Bounds](path) {
		}
	})
}

// A manifest that lost a part of its shape is named, and nothing is made of it.
func TestShapelessManifest(t *testing.T) {
	for want, spoil := range map[string]func(m *schemas.Manifest){
		"it has no config": func(m *schemas.Manifest) { m.Configs = nil },
		"has no split":     func(m *schemas.Manifest) { m.Configs[0].Splits = nil },
		"has no file":      func(m *schemas.Manifest) { m.Configs[0].Splits[0].Files = nil },
	} {
		dir := testRelease(t)
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := r.Manifest
		spoil(&m)
		write(t, dir, ManifestFile, func(w io.Writer) error { return encodeManifest(w, m) })
		if err := writeSums(dir); err != nil {
			t.Fatal(err)
		}
		rep, err := Verify(context.Background(), dir)
		if err != nil {
			if !strings.Contains(err.Error(), "config") { // refused when it is opened
				t.Errorf("%s: %v", want, err)
			}
			continue
		}
		if got := lines(rep.Problems); !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
}
