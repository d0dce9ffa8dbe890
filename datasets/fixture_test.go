// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// colours make n stories differ in more than a number.
var (
	colours = []string{"red", "blue", "green", "grey", "white", "black", "brown"}
	names   = []string{"Zoë", "Ada", "Tom", "Mara", "Esmé", "Otto", "李雷"}
	places  = []string{"café", "mill", "harbour", "tower", "inn", "bridge"}
)

// nouns fill the middle of a tale, so that two tales share no long run of words.
var nouns = strings.Fields("apple anvil barge bell candle cart door drum egg ember fence fiddle glove goose hammer hedge inkpot island jug kettle kite " +
	"ladder lantern mirror moss needle nut oar orchard pebble pillow quilt river rope saddle shell table thimble urn violin wagon well yard yoke")

// tale is the text of source n with the hat's colour at the end.
func tale(n int, last string) string {
	who, where := names[n%len(names)], places[n%len(places)]
	r := rand.New(rand.NewPCG(uint64(n), 7))
	pick := func() string { return nouns[r.IntN(len(nouns))] }
	var b strings.Builder
	fmt.Fprintf(&b, "%s’s 👒 hat was %s like the %s of day %d. She wore it to the %s on day %d.\n\n“Is it new?” asked the keeper.", who, colours[n%len(colours)], pick(), n, where, n)
	for range 3 + n%4 {
		fmt.Fprintf(&b, " The %s and the %s lay near a %s, a %s, no %s, one %s.", pick(), pick(), pick(), pick(), pick(), pick())
	}
	fmt.Fprintf(&b, "\n\nAt night her %s hat hung above the %s.", last, pick())
	return b.String()
}

const testCanary = "4f1c7a52-90de-4b7e-8f39-6d2b1c05e8a7"

// row makes the original of source n, or its version with a plot hole.
func row(n int, variant, split string) schemas.Example {
	group := fmt.Sprintf("tales:source-%03d", n)
	old, fresh := colours[n%len(colours)], colours[(n+1)%len(colours)]
	e := schemas.Example{GroupID: group, MatchID: group, Split: split, Variant: variant, Title: "The Hat of " + names[n%len(names)], Language: "en",
		Label: schemas.LabelConsistent, ErrorSpans: []schemas.Span{}, ContradictedSpans: []schemas.Span{}, Edits: []schemas.Edit{},
		ContErrorExpl: "NA", ContErrorLines: "NA", ContradictedLines: "NA",
		Source:         schemas.Source{Corpus: "tales", ID: group, Title: "Hats", Licence: "CC0-1.0", Redistribute: schemas.RedistributeText, Charset: "UTF-8"},
		DatasetVersion: "1.0.0", Canary: testCanary}
	last := old
	if variant == schemas.VariantPatched {
		last = fresh
	}
	e.Story = tale(n, last)
	ix := text.NewIndex(e.Story)
	for _, r := range text.Sentences(e.Story) {
		sp := ix.Span(r)
		e.Sentences = append(e.Sentences, schemas.Bounds{Start: sp.Start, End: sp.End})
	}
	span := func(sentence int) schemas.Span {
		b := e.Sentences[sentence]
		sp, err := ix.FromRunes(b.Start, b.End)
		if err != nil {
			panic(err)
		}
		return schemas.Span{Offsets: schemas.Offsets(sp), Sentence: sentence, Text: e.Story[sp.ByteStart:sp.ByteEnd]}
	}
	e.SourceWords = text.Words(tale(n, old))
	kind := variant
	if variant == schemas.VariantPatched {
		at := strings.LastIndex(e.Story, fresh)
		sp := ix.Span(text.Range{Start: at, End: at + len(fresh)})
		fact, counter, expl := "The hat is "+old+".", "The hat is "+fresh+".", "The hat was "+old+" and is "+fresh+"."
		class, flawKind, sub, sites := "colour", "continuity", "appearance_mismatches", 1
		e.MatchID = schemas.MatchID(group, fact, counter)
		e.Label, e.ContError, e.Engine, e.Verification = schemas.LabelError, 1, "rules", schemas.VerifiedRules
		e.ErrorSpans, e.ContradictedSpans = []schemas.Span{span(len(e.Sentences) - 1)}, []schemas.Span{span(0)}
		e.Edits = []schemas.Edit{{Span: schemas.Span{Offsets: schemas.Offsets(sp), Sentence: len(e.Sentences) - 1, Text: fresh}, Old: old, SourceStart: sp.Start}}
		e.Fact, e.Counterfactual, e.Explanation, e.ContErrorExpl = &fact, &counter, &expl, expl
		e.ContErrorLines, e.ContradictedLines = splits.ListItems(e.ErrorSpans), splits.ListItems(e.ContradictedSpans)
		e.FlawKind, e.FlawSubtype, e.FlawClass, e.Sites = &flawKind, &sub, &class, &sites
		e.Difficulty = &schemas.Difficulty{Words: 40 + n, Sentences: 4, Sites: 1, Explicit: true, Voice: "narrator"}
		kind = ""
	}
	if kind != "" {
		e.NegativeKind = &kind
	}
	e.ExampleID = schemas.ExampleID(e.MatchID, variant)
	e.TextHash, e.Words = schemas.HashText(e.Story), text.Words(e.Story)
	return e
}

// pairs makes original and plot hole of sources [from, to), in order of ids.
func pairs(from, to int, split string) []schemas.Example {
	var out []schemas.Example
	for n := from; n < to; n++ {
		out = append(out, row(n, schemas.VariantOriginal, split), row(n, schemas.VariantPatched, split))
	}
	slices.SortFunc(out, func(a, b schemas.Example) int { return cmp.Compare(a.ExampleID, b.ExampleID) })
	return out
}

func rowsOf(list []schemas.Example) iter.Seq2[schemas.Example, error] {
	return func(yield func(schemas.Example, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func table(config, split string, list []schemas.Example) Table {
	return NewTable(config, split, "example", rowsOf(list))
}

// testManifest is what a workspace would know of the fixture.
func testManifest(t testing.TB) schemas.Manifest {
	t.Helper()
	r := schemas.DefaultRecipe()
	r.Name, r.Version, r.Date, r.Canary, r.Description = "hats", "1.0.0", "2026-11-29", testCanary, "Hats that change their colour."
	r.Corpora = []schemas.CorpusRecipe{{Name: "tales", Settings: json.RawMessage(`{}`)}}
	r.Release.Title, r.Release.Authors, r.Release.RowsPerShard = "Hats", []string{"Ada Example"}, 10
	m := schemas.Manifest{Format: 1, Name: r.Name, Version: r.Version, Date: r.Date, Canary: r.Canary, Recipe: r, State: schemas.StateComplete,
		Steps:   []schemas.StepManifest{{Step: "make", Version: "1", State: schemas.StateComplete, In: 30, Out: 28, Dropped: 2, Reasons: []schemas.Count{{Name: "facts/no_facts", N: 2}}}},
		Corpora: []schemas.CorpusUse{{Name: "tales", Licence: "CC0-1.0", Files: 1, Read: 30, Kept: 30}},
		Drops:   []schemas.Count{{Name: "facts/no_facts", N: 2}}, Notes: []string{"flawed_fictions_long: wanted 4 positives, got 0"}}
	var err error
	if m.RecipeHash, err = RecipeHash(r); err != nil {
		t.Fatal(err)
	}
	return m
}

func testTables() []Table {
	return []Table{
		table(splits.FlawedFictions, splits.Test, pairs(0, 12, splits.Test)), // three shards
		table(splits.Long, splits.Test, nil),                                 // no row
		table(splits.FewShot, splits.Train, pairs(20, 22, splits.Train)),
	}
}

// testRelease writes the fixture and returns its folder.
func testRelease(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "hats")
	if _, err := Write(context.Background(), dir, testManifest(t), testTables(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustVerify(t testing.TB, dir string) *Report {
	t.Helper()
	rep, err := Verify(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// How much a forger recomputes after a change.
const (
	asIs     = iota
	hashes   // SHA256SUMS and the manifest's hashes of data files
	sidecar2 // card and all other files that follow from the manifest too
)

// reseal recomputes what the level says. A manifest that cannot be read stays.
func reseal(t testing.TB, dir string, level int, rows *summary) {
	t.Helper()
	if level == asIs {
		return
	}
	var m schemas.Manifest
	raw, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(raw, &m) == nil {
		m.Files = nil
		for i := range m.Configs {
			for j := range m.Configs[i].Splits {
				s := &m.Configs[i].Splits[j]
				s.Bytes = 0
				for k := range s.Files {
					h, err := HashFile(dir, s.Files[k].Path)
					if err == nil { // a flip may have changed the path
						s.Files[k].Bytes, s.Files[k].SHA256 = h.Bytes, h.SHA256
					}
					s.Bytes += s.Files[k].Bytes
				}
				m.Files = append(m.Files, s.Files...)
			}
		}
		write(t, dir, ManifestFile, func(w io.Writer) error { return encodeManifest(w, m) })
		if level == sidecar2 && shape(m) == nil {
			in := sidecarInput{Manifest: m, rows: rows}
			for _, f := range m.Files {
				in.add(f)
			}
			h, err := HashFile(dir, ManifestFile)
			if err != nil {
				t.Fatal(err)
			}
			in.add(h)
			for _, s := range sidecars(m) {
				write(t, dir, s.name, func(w io.Writer) error { return s.write(w, in) })
				h, err := HashFile(dir, s.name)
				if err != nil {
					t.Fatal(err)
				}
				in.add(h)
			}
		}
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, dir, name string, fill func(io.Writer) error) {
	t.Helper()
	if err := writeFile(dir, name, fill); err != nil {
		t.Fatal(err)
	}
}
