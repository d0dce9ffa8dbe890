// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/fairytaleqa"
	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/internal/sharedtest"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/dedup"
)

// knownPair is a line of known_duplicates.tsv.
type knownPair struct {
	pathA, titleA, pathB, titleB, kind string
	jaccard, containment               float64
}

func (p knownPair) String() string {
	short := func(path string) string { return strings.TrimSuffix(filepath.Base(path), "-story.csv") }
	return fmt.Sprintf("%s %s (%.3f/%.3f): %s %q, %s %q", p.kind, "J/C", p.jaccard, p.containment, short(p.pathA), p.titleA, short(p.pathB), p.titleB)
}

func readKnown(t testing.TB, root string) []knownPair {
	f, err := os.Open(filepath.Join(root, "known_duplicates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var pairs []knownPair
	for sc := bufio.NewScanner(f); sc.Scan(); {
		c := strings.Split(sc.Text(), "\t")
		if c[0] == "path_a" {
			continue
		}
		j, _ := strconv.ParseFloat(c[5], 64)
		k, _ := strconv.ParseFloat(c[6], 64)
		pairs = append(pairs, knownPair{c[0], c[1], c[2], c[3], c[4], j, k})
	}
	if len(pairs) == 0 {
		t.Fatal("known_duplicates.tsv is empty")
	}
	return pairs
}

// load reads all stories of a corpus at root.
func load(t testing.TB, c ingest.Corpus, root string, settings string) []schemas.Story {
	t.Helper()
	if settings == "" {
		settings = string(c.Defaults)
	}
	var all []schemas.Story
	for item, err := range c.Open(context.Background(), root, []byte(settings)) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(item.Name, err)
		}
		all = append(all, b.Stories...)
	}
	return all
}

// realStories are the tales of the shared corpora: Gutenberg, FairytaleQA and
// the lines of the WritingPrompts samples that the known pairs name.
func realStories(t testing.TB, root string, pairs []knownPair) []schemas.Story {
	all := load(t, gutenberg.Corpus, filepath.Join(root, "gutenberg"), "")
	all = append(all, load(t, fairytaleqa.Corpus, filepath.Join(root, "fairytaleqa"), "")...)
	done := map[string]bool{}
	for _, p := range pairs {
		for _, path := range []string{p.pathA, p.pathB} {
			if !strings.HasPrefix(path, "writingprompts/") || done[path] {
				continue
			}
			done[path] = true
			b, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
				title := fmt.Sprintf("line %d", i+1)
				all = append(all, schemas.Story{
					StoryID: schemas.StoryID("writingprompts", filepath.Base(path), title), Kind: schemas.KindStory,
					Title: title, Text: line, Source: schemas.Source{Corpus: "writingprompts", File: strings.TrimPrefix(path, "writingprompts/")},
				})
			}
		}
	}
	return all
}

// decideOn takes stories through the three calls.
func decideOn(t testing.TB, stories []schemas.Story, set dedup.Settings) *dedup.Decisions {
	t.Helper()
	by := map[string]schemas.Story{}
	var sigs []dedup.Signature
	for _, s := range stories {
		by[s.StoryID] = s
		sigs = append(sigs, dedup.Sign(s, set))
	}
	d, err := dedup.Choose(context.Background(), sigs, func(id string) (schemas.Story, error) { return by[id], nil }, set)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// realSettings are a recipe's defaults with the corpora of realStories.
func realSettings() dedup.Settings {
	return dedup.Settings{
		DedupRecipe: schemas.DefaultRecipe().Dedup,
		Corpora:     []string{"fairytaleqa", "gutenberg", "writingprompts"},
		Workers:     runtime.GOMAXPROCS(0),
	}
}

// finder maps the table's file and heading to our stories.
type finder struct{ byFile map[string][]schemas.Story }

func newFinder(stories []schemas.Story) finder {
	f := finder{map[string][]schemas.Story{}}
	for _, s := range stories {
		path := s.Source.Corpus + "/" + s.Source.File
		f.byFile[path] = append(f.byFile[path], s)
	}
	return f
}

// find returns the story under a heading of a file, as it stands or without
// the number before it and the footnote call behind it.
func (f finder) find(path, title string) (schemas.Story, bool) {
	stories := f.byFile[path]
	if len(stories) == 1 {
		return stories[0], true
	}
	bare := strings.TrimLeft(title, "0123456789 ")
	if i := strings.IndexAny(bare, "(["); i > 0 {
		bare = bare[:i]
	}
	for _, want := range []string{schemas.Slug(title), schemas.Slug(bare)} {
		for _, s := range stories {
			if schemas.Slug(s.Title) == want {
				return s, true
			}
		}
		for _, s := range stories {
			if have := schemas.Slug(s.Title); strings.HasSuffix(have, "-"+want) || strings.HasPrefix(have, want+"-") || strings.HasPrefix(want, have+"-") {
				return s, true
			}
		}
	}
	return schemas.Story{}, false
}

// TestKnownDuplicates decides over all real stories and looks up the verified
// pairs of the shared table: every exact and near pair must be one story, no
// retelling may be merged.
func TestKnownDuplicates(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	pairs := readKnown(t, root)
	stories := realStories(t, root, pairs)
	set := realSettings()
	d := decideOn(t, stories, set)
	group := map[string]string{}
	for _, s := range stories {
		kept, dropped := d.Apply(s)
		if dropped != nil && dropped.Reason == dedup.NotSigned {
			t.Fatal(dropped)
		}
		group[s.StoryID] = kept.GroupID
	}
	where := newFinder(stories)
	type tally struct{ pairs, absent, found int }
	tallies := map[string]*tally{}
	for _, p := range pairs {
		if p.titleA == "*" {
			continue // see TestKnownBooks
		}
		n := tallies[p.kind]
		if n == nil {
			n = new(tally)
			tallies[p.kind] = n
		}
		n.pairs++
		a, okA := where.find(p.pathA, p.titleA)
		b, okB := where.find(p.pathB, p.titleB)
		switch {
		case !okA || !okB:
			n.absent++
			t.Logf("absent  %v (have %v %v)", p, okA, okB) // parts of one tale of ours
		case group[a.StoryID] == group[b.StoryID]:
			n.found++
			if p.kind == "retelling" {
				t.Errorf("retelling merged: %v", p)
			}
		case p.kind != "retelling":
			t.Errorf("missed  %v: %s (%s), %s (%s)", p, a.StoryID, group[a.StoryID], b.StoryID, group[b.StoryID])
		}
	}
	t.Logf("%d stories, %d set aside, %d pairs cleared as boilerplate", len(stories), len(d.Duplicates), d.Boilerplate)
	for _, kind := range []string{"exact", "near", "retelling"} {
		t.Logf("%-10s %+v", kind, *tallies[kind])
	}
	if n := tallies["near"]; tallies["exact"].absent > 0 || n.absent > 2 {
		t.Errorf("headings of exact or near pairs are missing from the stories")
	}
	if os.Getenv("RETCON_PRINT") != "" {
		for _, dup := range d.Duplicates {
			fmt.Printf("%s\t%s\t%s\t%.4f\t%.4f\t%d\t%d\n", dup.StoryID, dup.KeptID, dup.Kind, dup.Jaccard, dup.Containment, dup.SharedBands, dup.ClusterSize)
		}
	}
}

// TestBruteForce measures every pair of real stories that share a shingle, and
// finds those over a threshold that both stay: there should be none.
func TestBruteForce(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	stories := realStories(t, root, readKnown(t, root))
	d := decideOn(t, stories, realSettings())
	in := map[string][]int{} // shingle -> stories
	size := make([]int, len(stories))
	for i, s := range stories {
		w := strings.FieldsFunc(strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(s.Text)),
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(w) < dedup.WholeWords {
			continue
		}
		seen := map[string]bool{}
		for j := 0; j+5 <= len(w); j++ {
			seen[strings.Join(w[j:j+5], " ")] = true
		}
		for k := range seen {
			in[k] = append(in[k], i)
		}
		size[i] = len(seen)
	}
	both := map[[2]int]int{}
	for _, list := range in {
		for i, a := range list {
			for _, b := range list[i+1:] {
				both[[2]int{a, b}]++
			}
		}
	}
	kept := map[string]bool{}
	for _, id := range d.Kept() {
		kept[id] = true
	}
	pairs, missed := 0, 0
	for p, n := range both {
		j := float64(n) / float64(size[p[0]]+size[p[1]]-n)
		c := float64(n) / float64(min(size[p[0]], size[p[1]]))
		if j < 0.30 && c < 0.80 {
			continue
		}
		pairs++
		if a, b := stories[p[0]].StoryID, stories[p[1]].StoryID; kept[a] && kept[b] {
			missed++
			t.Errorf("%s and %s both stay: Jaccard %.3f, containment %.3f", a, b, j, c)
		}
	}
	t.Logf("%d pairs of %d stories are over a threshold, %d missed", pairs, len(stories), missed)
}

// TestOracle: on the real stories the default index finds at least what
// github.com/ekzhu/minhash-lsh finds, with the excerpt index and without.
func TestOracle(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	stories := realStories(t, root, readKnown(t, root))
	found := map[string]map[string]bool{}
	for _, c := range []struct {
		name, index string
		excerpts    bool
	}{
		{"bands", dedup.IndexBands, true},
		{"bands alone", dedup.IndexBands, false},
		{"minhash-lsh alone", dedup.IndexMinhashLSH, false},
	} {
		set := realSettings()
		set.Index, set.Excerpts = c.index, c.excerpts
		found[c.name] = map[string]bool{}
		for _, dup := range decideOn(t, stories, set).Duplicates {
			found[c.name][dup.StoryID] = true
		}
		t.Logf("%s: %d set aside", c.name, len(found[c.name]))
	}
	for id := range found["minhash-lsh alone"] {
		if !found["bands"][id] {
			t.Errorf("only minhash-lsh finds %s", id)
		}
		if !found["bands alone"][id] {
			t.Logf("bands alone do not find %s", id)
		}
	}
}

// TestKnownBooks decides over whole books, each file read by itself with the
// tales of it joined: every known pair of files must be one book, and no
// others may.
func TestKnownBooks(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	group := map[string]string{} // what the table says is one book
	var find func(string) string
	find = func(p string) string {
		if g, ok := group[p]; ok && g != p {
			return find(g)
		}
		return p
	}
	var books []schemas.Story
	for _, p := range readKnown(t, root) {
		if p.titleA != "*" {
			continue
		}
		for _, path := range []string{p.pathA, p.pathB} {
			if _, ok := group[path]; ok {
				continue
			}
			group[path] = path
			var texts []string
			for _, s := range load(t, gutenberg.Corpus, filepath.Join(root, path), `{"filter":false,"long_work":0}`) {
				texts = append(texts, s.Text)
			}
			books = append(books, schemas.Story{StoryID: path, Kind: schemas.KindStory, Text: strings.Join(texts, "\n\n")})
		}
		group[find(p.pathB)] = find(p.pathA)
	}
	set := realSettings()
	d := decideOn(t, books, set)
	kept := map[string]string{}
	n := map[string]bool{}
	for _, b := range books {
		s, _ := d.Apply(b)
		kept[b.StoryID] = s.GroupID
		n[find(b.StoryID)] = true
	}
	for _, a := range books {
		for _, b := range books {
			if same := kept[a.StoryID] == kept[b.StoryID]; same != (find(a.StoryID) == find(b.StoryID)) {
				t.Errorf("%s and %s: one book %v", a.StoryID, b.StoryID, same)
			}
		}
	}
	t.Logf("%d files, %d books, %d kept", len(books), len(n), len(books)-len(d.Duplicates))
	for _, dup := range d.Duplicates {
		t.Logf("%+v", dup)
	}
}

// TestPlantedExcerpts plants 200 excerpts of real tales, of 200 to 300 words,
// among all of them: each must be found, as part of its tale or the copy of it
// that stays.
func TestPlantedExcerpts(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	stories := realStories(t, root, readKnown(t, root))
	set := realSettings()
	before := decideOn(t, stories, set)
	r := rand.New(rand.NewPCG(1, 200))
	of := map[string]schemas.Story{}
	for len(of) < 200 {
		s := stories[r.IntN(len(stories))]
		w := strings.Fields(s.Text)
		if len(w) < 1200 {
			continue
		}
		size := 200 + r.IntN(100)
		from := r.IntN(len(w) - size)
		e := schemas.Story{
			StoryID: fmt.Sprintf("excerpt:%d", len(of)), Kind: schemas.KindStory, Text: strings.Join(w[from:from+size], " "),
			Source: schemas.Source{Corpus: "excerpt"},
		}
		of[e.StoryID] = s
		stories = append(stories, e)
	}
	d := decideOn(t, stories, set)
	for _, s := range stories {
		source, planted := of[s.StoryID]
		if !planted {
			continue
		}
		home, _ := before.Apply(source)
		got, dropped := d.Apply(s)
		if dropped == nil || got.GroupID != home.GroupID && got.GroupID != source.StoryID {
			t.Errorf("%s of %s (kept %s): %+v", s.StoryID, source.StoryID, home.GroupID, dropped)
		}
	}
	t.Logf("%d set aside without, %d with 200 excerpts", len(before.Duplicates), len(d.Duplicates))
}

// TestRetellings measures the report for people: how many of the known
// retellings, of stories that stay, it lists among its first 500 pairs.
func TestRetellings(t *testing.T) {
	root := sharedtest.Path(t, "corpora")
	pairs := readKnown(t, root)
	stories := realStories(t, root, pairs)
	d := decideOn(t, stories, realSettings())
	group := map[string]string{}
	var profiles []dedup.Profile
	for _, s := range stories {
		kept, dropped := d.Apply(s)
		group[s.StoryID] = kept.GroupID
		if dropped == nil {
			profiles = append(profiles, dedup.ProfileOf(s))
		}
	}
	where := newFinder(stories)
	want := map[[2]string]knownPair{}
	for _, p := range pairs {
		a, okA := where.find(p.pathA, p.titleA)
		b, okB := where.find(p.pathB, p.titleB)
		if p.kind == "retelling" && okA && okB {
			k := [2]string{group[a.StoryID], group[b.StoryID]}
			slices.Sort(k[:])
			want[k] = p
		}
	}
	known := len(want)
	list := dedup.Retellings(profiles, 0)
	for i, r := range list {
		if os.Getenv("RETCON_PRINT") != "" {
			_, ok := want[[2]string{r.A, r.B}]
			fmt.Printf("%d\t%.3f\t%v\t%s\t%s\n", i+1, r.Score, ok, r.A, r.B)
		}
		if i < 500 {
			delete(want, [2]string{r.A, r.B})
		}
	}
	t.Logf("%d of %d known retellings are among the first 500 of %d pairs", known-len(want), known, len(list))
	for _, p := range want {
		t.Logf("not there: %v", p)
	}
	if known == 0 || 10*len(want) > known {
		t.Errorf("%d of %d known retellings are not among the first 500", len(want), known)
	}
}
