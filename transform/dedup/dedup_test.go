// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retcon-bench/retcon/schemas"
)

// story makes a story of the corpus before the colon of id.
func story(id, text string) schemas.Story {
	corpus, _, _ := strings.Cut(id, ":")
	return schemas.Story{
		StoryID: id, GroupID: id, TextHash: schemas.HashText(text), Kind: schemas.KindStory, Text: text,
		Source: schemas.Source{Corpus: corpus, Redistribute: schemas.RedistributeText},
	}
}

func defaults() Settings { return Settings{DedupRecipe: schemas.DefaultRecipe().Dedup} }

// fetcher reads from a list.
func fetcher(stories []schemas.Story) Fetch {
	by := map[string]schemas.Story{}
	for _, s := range stories {
		by[s.StoryID] = s
	}
	return func(id string) (schemas.Story, error) {
		s, ok := by[id]
		if !ok {
			return s, errors.New("no such story")
		}
		return s, nil
	}
}

func choose(set Settings, stories ...schemas.Story) (*Decisions, error) {
	var sigs []Signature
	for _, s := range stories {
		sigs = append(sigs, Sign(s, set))
	}
	return Choose(context.Background(), sigs, fetcher(stories), set)
}

// mustChoose takes stories through the calls and returns a line a duplicate.
func mustChoose(t testing.TB, set Settings, stories ...schemas.Story) []string {
	t.Helper()
	d, err := choose(set, stories...)
	if err != nil {
		t.Fatal(err)
	}
	return lines(d)
}

func lines(d *Decisions) []string {
	var out []string
	for _, dup := range d.Duplicates {
		out = append(out, fmt.Sprintf("%s %s %s", dup.StoryID, dup.Kind, dup.KeptID))
	}
	return out
}

func want(t testing.TB, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("duplicates (-want +got):\n%s", diff)
	}
}

// prose is a deterministic stream of words, about as varied as a tale's: word
// ranks are Zipf's.
type prose struct {
	r *rand.Rand
	z *rand.Zipf
}

func newProse(seed uint64) *prose {
	r := rand.New(rand.NewPCG(seed, 7))
	return &prose{r, rand.NewZipf(r, 1.2, 8, 20_000)}
}

func (p *prose) words(n int) []string {
	w := make([]string, n)
	for i := range w {
		w[i] = fmt.Sprintf("w%d", p.z.Uint64())
	}
	return w
}

func (p *prose) text(n int) string { return strings.Join(p.words(n), " ") }

// edited replaces each word with probability share.
func (p *prose) edited(text string, share float64) string {
	w := strings.Fields(text)
	for i := range w {
		if p.r.Float64() < share {
			w[i] = fmt.Sprintf("x%d", p.r.IntN(1_000_000))
		}
	}
	return strings.Join(w, " ")
}

func TestShortTexts(t *testing.T) {
	t.Run("shorter than a shingle", func(t *testing.T) { // C50
		want(t, mustChoose(t, defaults(), story("a:1", "The cat slept"), story("a:2", "A dog ran"), story("a:3", "The cat slept")),
			"a:3 exact a:1")
	})
	t.Run("one word apart", func(t *testing.T) {
		want(t, mustChoose(t, defaults(),
			story("a:1", "Once upon a time there was a cat who slept by the fire"),
			story("a:2", "Once upon a time there was a dog who slept by the fire")))
	})
	t.Run("no words at all", func(t *testing.T) {
		want(t, mustChoose(t, defaults(), story("a:1", "…"), story("a:2", "***"), story("a:3", "…"), story("a:4", "")), "a:3 exact a:1")
	})
	t.Run("exactly a shingle", func(t *testing.T) {
		set := defaults()
		want(t, mustChoose(t, set, story("a:1", "one two three four five"), story("a:2", "One, two; three four FIVE!"), story("a:3", "one two three four six")),
			"a:2 exact a:1")
	})
}

func TestCaseMarksAndAccentsMakeNoDifference(t *testing.T) {
	want(t, mustChoose(t, defaults(),
		story("a:1", "“Esmé’s cœur,” said the _king_ -- Aesop"),
		story("a:2", "'Esme's coeur', said the king. AESOP"),
	), "a:1 exact a:2") // the one without emphasis marks is the cleaner
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"The King's  well-known _Lamp_.", "the kings well known lamp "},
		{"Esmé’s cœur, ÆSOP", "esmes coeur aesop "},
		{"猫が 3匹", "猫 が 3 匹 "},
		{"½ a loaf", "1 2 a loaf "},
		{"e\u0301te\u0301", "ete "},
		{"co\u00adoperate", "cooperate "},
		{"Ἀχιλλεύς ДОМ", "αχιλλευς дом "},
		{"ﷺ", "صلى الله عليه وسلم "},
		{"a\xffb", "a b "},
		{"internationalisation", "internationalisation "},
		{"", ""},
		{"* * *", ""},
	} {
		var f folded
		f.fold(c.in)
		if got := string(f.bytes()); got != c.want {
			t.Errorf("fold(%q) = %q, want %q", c.in, got, c.want)
		}
		if n := strings.Count(c.want, " "); n != len(f.hashes) {
			t.Errorf("fold(%q): %d hashes for %d words", c.in, len(f.hashes), n)
		}
	}
}

// TestFoldTwice: what any character becomes stays as it is.
func TestFoldTwice(t *testing.T) {
	var f folded
	for r := rune(0); r <= 0x1FFFF; r++ {
		f.fold("a" + string(r) + "b")
		once := string(f.bytes())
		f.fold(once)
		if got := string(f.bytes()); got != once {
			t.Errorf("%U: %q, then %q", r, once, got)
		}
	}
}

// TestFastWords: hashWords gives the hashes of fold, whatever a word's length,
// its place in a block of 64 bytes and what stands round it, up to the text's
// very end.
func TestFastWords(t *testing.T) {
	var w signer
	check := func(text string) {
		t.Helper()
		w.fold(text)
		want := slices.Clone(w.hashes)
		if w.hashWords(text); !slices.Equal(w.hashes, want) {
			t.Errorf("%q: other hashes than those of fold", text)
		}
	}
	for n := 1; n <= 70; n++ {
		for before := range 66 {
			for _, after := range []string{"", ".", " z", strings.Repeat(" z", 40)} {
				check(strings.Repeat(".", before) + strings.Repeat("Ab9", 24)[:n] + after)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "B", "Z", "z", "0", "9", "abcdefgh", "ABCDEFGHI", " ", "  ", ".", "'", "’", "é", "æ", "猫", "½", "_", "[", "@", "`", "{", "/", ":", "\n", "\x7f", "\xff", "\u00ad"}
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(b.String())
	}
}

func TestSortHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 2, 3, 100, 1000, 300_000} {
		in := make([]uint64, n)
		for i := range in {
			in[i] = r.Uint64()
			if i > 0 && r.IntN(4) == 0 {
				in[i] = in[r.IntN(i)]
			}
		}
		got := make([]uint64, n)
		sortHashes(got, in)
		slices.Sort(in)
		if !slices.Equal(got, in) {
			t.Errorf("%d hashes are not in order", n)
		}
	}
}

// TestWordHashes: equal words hash alike wherever they stand, different words
// do not, at every length round the block size of the hash.
func TestWordHashes(t *testing.T) {
	seen := map[uint64]string{}
	for n := 1; n < 40; n++ {
		for i := range n {
			w := []byte(strings.Repeat("a", n))
			w[i] = 'b'
			var f folded
			f.fold("zz " + string(w) + " " + string(w) + "qq " + string(w))
			if f.hashes[1] != f.hashes[3] || f.hashes[1] == f.hashes[2] {
				t.Fatalf("hash of %s depends on its place", w)
			}
			if other, ok := seen[f.hashes[1]]; ok {
				t.Fatalf("%s and %s hash alike", w, other)
			}
			seen[f.hashes[1]] = string(w)
		}
	}
}

func TestKinds(t *testing.T) {
	p := newProse(1)
	whole := p.text(2000)
	w := strings.Fields(whole)
	excerpt := strings.Join(w[900:1100], " ")
	abridged := slices.Concat(w[:120], w[600:720], w[1100:1200], w[1900:])
	got := mustChoose(t, defaults(),
		story("a:whole", whole), story("b:near", p.edited(whole, 0.05)), story("b:excerpt", excerpt),
		story("b:abridged", strings.Join(abridged, " ")), story("b:other", p.text(2000)))
	want(t, got, "b:abridged contained a:whole", "b:excerpt excerpt a:whole", "b:near near a:whole")
}

func TestEveryExcerptOf200WordsIsFound(t *testing.T) {
	p := newProse(2)
	var stories []schemas.Story
	for i := range 200 {
		whole := p.text(3000)
		from := p.r.IntN(2800)
		stories = append(stories, story(fmt.Sprintf("a:%03d", i), whole),
			story(fmt.Sprintf("b:%03d", i), strings.Join(strings.Fields(whole)[from:from+200], " ")))
	}
	got := mustChoose(t, defaults(), stories...)
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf("b:%03d excerpt a:%03d", i, i))
	}
	want(t, got, all...)

	without := defaults()
	without.Excerpts = false
	if n := len(mustChoose(t, without, stories...)); n > 100 {
		t.Errorf("bands alone found %d excerpts: the excerpt index is not what finds them", n)
	}
}

// TestSharedPassageGivesACommonMark is the promise of appendMarks.
func TestSharedPassageGivesACommonMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProse(rapid.Uint64().Draw(t, "seed"))
		passage := p.words(68)
		marks := func() []uint32 {
			w := slices.Concat(p.words(p.r.IntN(200)), passage, p.words(p.r.IntN(200)))
			var f folded
			f.fold(strings.Join(w, " "))
			return appendMarks(nil, appendShingles(nil, f.hashes, 5))
		}
		a, b := marks(), marks()
		if !slices.IsSorted(a) {
			t.Fatal("marks are not sorted")
		}
		if !slices.ContainsFunc(a, func(m uint32) bool { _, ok := slices.BinarySearch(b, m); return ok }) {
			t.Fatal("no common mark")
		}
	})
}

func TestUnrelatedBooksStay(t *testing.T) { // C51
	a, b := newProse(3), newProse(4)
	want(t, mustChoose(t, defaults(), story("a:1", a.text(90_000)), story("a:2", b.text(90_000))))
}

func TestSharedPassagesMakeNoDuplicate(t *testing.T) { // C53
	for _, c := range []struct{ tales, preface, tale int }{
		{40, 500, 700}, {20, 1200, 500}, {40, 60, 40}, {40, 25, 14}, {12, 300, 200}, {150, 80, 80},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := newProse(uint64(c.tales + c.preface))
			preface := p.text(c.preface)
			var before, after, both []schemas.Story
			for i := range c.tales {
				tale := p.text(c.tale + i%7)
				before = append(before, story(fmt.Sprintf("a:%d", i), preface+"\n\n"+tale))
				after = append(after, story(fmt.Sprintf("a:%d", i), tale+"\n\n"+preface))
				both = append(both, story(fmt.Sprintf("a:%d", i), tale+"\n\n"+preface), story(fmt.Sprintf("b:%d", i), preface+" "+tale))
			}
			d, err := choose(defaults(), before...)
			if err != nil {
				t.Fatal(err)
			}
			want(t, lines(d))
			want(t, mustChoose(t, defaults(), after...))
			if got := mustChoose(t, defaults(), both...); len(got) != c.tales {
				t.Errorf("%d of %d tales that stand twice beside the passage were found", len(got), c.tales)
			}
			if c.preface > c.tale {
				off := defaults()
				off.Boilerplate, off.MaxCluster = 0, 0
				if n := len(mustChoose(t, off, before...)); n == 0 {
					t.Error("without the rule nothing is merged either: the case shows nothing")
				}
			}
		})
	}
}

// A few short tales among many long ones with the same preface: it is only the
// short ones that the preface makes alike.
func TestSharedPassageOfFewAlikeTales(t *testing.T) {
	p := newProse(5)
	preface := p.text(300)
	var stories []schemas.Story
	for i := range 3 {
		stories = append(stories, story(fmt.Sprintf("a:short%d", i), preface+" "+p.text(120)))
	}
	for i := range 30 {
		stories = append(stories, story(fmt.Sprintf("a:long%d", i), preface+" "+p.text(3000)))
	}
	want(t, mustChoose(t, defaults(), stories...))
}

// TestManyEditions: what is boilerplate by frequency alone is not when it is
// the text.
func TestManyEditions(t *testing.T) {
	for _, words := range []int{40, 300, 2000} {
		p := newProse(6)
		tale := p.text(words)
		stories := []schemas.Story{story("a:00", tale)}
		for i := 1; i < 30; i++ {
			stories = append(stories, story(fmt.Sprintf("a:%02d", i), p.edited(tale, 0.04)))
		}
		if got := mustChoose(t, defaults(), stories...); len(got) != 29 {
			t.Errorf("%d words: %d of 29 editions were found", words, len(got))
		}
		// Thirty different passages of one story are passages of it still.
		whole := p.text(3000)
		stories = []schemas.Story{story("b:whole", whole)}
		for i := range 30 {
			stories = append(stories, story(fmt.Sprintf("b:%02d", i), strings.Join(strings.Fields(whole)[1000+3*i:1250+3*i], " ")))
		}
		if got := mustChoose(t, defaults(), stories...); len(got) != 30 {
			t.Errorf("%d of 30 overlapping excerpts were found", len(got))
		}
	}
}

// TestNoChaining: each story shares two thirds with the next, the ends share
// nothing; a story is set aside only for one that it is like.
func TestNoChaining(t *testing.T) {
	p := newProse(7)
	w := p.words(3000)
	var stories []schemas.Story
	for i := range 12 {
		stories = append(stories, story(fmt.Sprintf("a:%02d", i), strings.Join(w[i*200:i*200+600], " ")))
	}
	d, err := choose(defaults(), stories...)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.kept) < 4 {
		t.Errorf("a chain of 12 was folded into %v", d.kept)
	}
	checkSound(t, d, stories, defaults())
}

func TestGiantClusterStopsTheRun(t *testing.T) {
	p := newProse(8)
	set := defaults()
	set.MaxCluster = 20
	tale := p.text(400)
	stories := []schemas.Story{story("a:other", p.text(400))}
	for i := range 21 {
		stories = append(stories, story(fmt.Sprintf("a:%02d", i), p.edited(tale, 0.02)))
	}
	if _, err := choose(set, stories[:21]...); err != nil {
		t.Errorf("20 copies: %v", err)
	}
	d, err := choose(set, stories...)
	var giant *ClusterError
	if !errors.As(err, &giant) || d != nil {
		t.Fatalf("21 copies: decisions %v, error %v", d, err)
	}
	if giant.Size != 21 || giant.Max != 20 || len(giant.Evidence) != 20 || giant.Evidence[0].Jaccard < 0.5 {
		t.Errorf("%+v", giant)
	}
	if !strings.Contains(err.Error(), giant.KeptID) || !strings.Contains(err.Error(), "max_cluster 20") {
		t.Error(err)
	}
	for i := range 60 { // a placeholder in place of texts
		stories = append(stories, story(fmt.Sprintf("b:%02d", i), "[removed]"))
	}
	if _, err = choose(set, stories...); !errors.As(err, &giant) || giant.Size != 60 {
		t.Errorf("60 placeholders: %v", err)
	}
}

func TestWhichCopyStays(t *testing.T) {
	p := newProse(9)
	tale := p.text(800)
	longer := tale + " " + p.text(30)
	set := defaults()
	set.Corpora = []string{"best", "good"}
	dirty := story("good:a-dirty", tale)
	dirty.Source.Repaired = 3
	kept := func(id, text string) schemas.Story {
		s := story(id, text)
		s.Source.Redistribute = schemas.RedistributeDerived
		return s
	}
	unstated := story("best:1", longer)
	unstated.Source.Redistribute = ""
	marked := story("good:b-marked", "[12] "+tale[:100]+"_"+tale[100:])
	marked.Text = strings.Replace(marked.Text, "[12] ", "[] ", 1)
	for _, c := range []struct {
		name    string
		earlier string
		stories []schemas.Story
		kept    string
	}{
		{"best source before longest", "", []schemas.Story{story("good:1", longer), story("best:1", tale)}, "best:1"},
		{"what may be published before the best source", "", []schemas.Story{kept("best:1", longer), story("good:1", tale)}, "good:1"},
		{"and before a corpus that is listed", "", []schemas.Story{kept("best:1", longer), story("other:1", tale)}, "other:1"},
		{"and before one of which nobody knows", "", []schemas.Story{unstated, story("good:1", tale)}, "good:1"},
		{"of two that may not be, the best source", "", []schemas.Story{kept("good:1", longer), kept("best:1", tale)}, "best:1"},
		{"a corpus that is not listed comes last", "", []schemas.Story{story("other:1", longer), story("good:1", tale)}, "good:1"},
		{"longest", "", []schemas.Story{story("good:1", tale), story("good:2", longer)}, "good:2"},
		{"cleanest", "", []schemas.Story{dirty, marked, story("good:z", tale)}, "good:z"},
		{"smallest id", "", []schemas.Story{story("good:b", tale), story("good:a", tale)}, "good:a"},
		{"an earlier release's first", "other:1", []schemas.Story{story("best:1", longer), story("other:1", tale)}, "other:1"},
		{"an earlier release's copy of the same words", "good:z", []schemas.Story{story("best:a", tale), story("good:z", tale)}, "good:z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set.Earlier = map[string]bool{c.earlier: true}
			d, err := choose(set, c.stories...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.Kept(), []string{c.kept}) {
				t.Errorf("kept %v, want %s", d.Kept(), c.kept)
			}
		})
	}
}

// A whole stays and its part goes, whatever the part's corpus; a book is not
// set aside for one tale of it.
func TestPartsGoNotWholes(t *testing.T) {
	p := newProse(10)
	tale := p.text(600)
	book := p.text(4000) + " " + tale + " " + p.text(4000)
	set := defaults()
	set.Corpora = []string{"best", "good"}
	want(t, mustChoose(t, set, story("best:tale", tale), story("good:book", book)), "best:tale excerpt good:book")
	// But what a release holds stays in the next.
	set.Earlier = map[string]bool{"best:tale": true}
	want(t, mustChoose(t, set, story("best:tale", tale), story("good:book", book)), "good:book excerpt best:tale")
	// Nested: a part of a part goes for the whole.
	set.Earlier = nil
	part := strings.Join(strings.Fields(tale)[100:250], " ")
	want(t, mustChoose(t, set, story("best:part", part), story("best:tale", tale), story("good:book", book)),
		"best:part excerpt good:book", "best:tale excerpt good:book")
}

// A passage of an edition that does not stay is a passage of the tale, even
// where the edition that stays is worded otherwise.
func TestPartOfAnotherEdition(t *testing.T) {
	p := newProse(13)
	tale := strings.Fields(p.text(2000))
	passage := strings.Join(tale[500:800], " ")
	revised := slices.Clone(tale)
	for i := 500; i < 800; i += 13 {
		revised[i] = "revised"
	}
	got := mustChoose(t, defaults(), story("a:1", strings.Join(revised, " ")+" the end"), story("a:2", strings.Join(tale, " ")),
		story("a:3", passage), story("a:4", p.text(900)))
	want(t, got, "a:2 near a:1", "a:3 excerpt a:1")
}

func TestQueriesAreComparedWhole(t *testing.T) {
	p := newProse(11)
	long := p.text(300)
	query := func(id, text string) schemas.Story {
		s := story(id, text)
		s.Kind = schemas.KindQuery
		return s
	}
	want(t, mustChoose(t, defaults(),
		query("q:1", long+" 500 words"), query("q:2", long+" 2000 words"), query("q:3", long+" 500 WORDS"),
		story("s:1", long+" 500 words")), "q:3 exact q:1")
}

// TestEqualHashesAreNotTrusted: what hashes alike is compared byte by byte.
func TestEqualHashesAreNotTrusted(t *testing.T) {
	stories := []schemas.Story{story("a:1", "The cat slept"), story("a:2", "A dog ran"), story("a:3", "the cat slept"), story("a:4", "a dog ran")}
	var sigs []Signature
	for _, s := range stories {
		sig := Sign(s, defaults())
		sig.Hash = [2]uint64{1, 2}
		sigs = append(sigs, sig)
	}
	d, err := Choose(context.Background(), sigs, fetcher(stories), defaults())
	if err != nil {
		t.Fatal(err)
	}
	want(t, lines(d), "a:3 exact a:1", "a:4 exact a:2")
}

func TestApply(t *testing.T) {
	p := newProse(12)
	tale := p.text(300)
	stories := []schemas.Story{story("a:1", tale), story("a:2", p.edited(tale, 0.03))}
	d, err := choose(defaults(), stories...)
	if err != nil {
		t.Fatal(err)
	}
	kept, drop := d.Apply(stories[0])
	if drop != nil || kept.GroupID != "a:1" || len(kept.Provenance) != 1 || kept.Provenance[0].Step != "dedup" || kept.Provenance[0].InputHash != stories[0].TextHash {
		t.Errorf("kept: %+v, %+v", kept, drop)
	}
	gone, drop := d.Apply(stories[1])
	if drop == nil || drop.Reason != KindNear || drop.Stage != "dedup" || gone.GroupID != "a:1" || drop.Evidence[0].Value != "a:1" {
		t.Errorf("dropped: %+v", drop)
	}
	if _, drop := d.Apply(story("a:3", "x")); drop == nil || drop.Reason != NotSigned {
		t.Errorf("a story Choose did not see: %+v", drop)
	}
}

func TestErrors(t *testing.T) {
	a, b := story("a:1", "The cat slept"), story("a:1", "A dog ran")
	if _, err := choose(defaults(), a, b); err == nil || !strings.Contains(err.Error(), "a:1") {
		t.Errorf("one id twice: %v", err)
	}
	if _, err := choose(defaults(), story("", "x")); err == nil {
		t.Error("no id: no error")
	}
	sigs := []Signature{Sign(story("a:1", "The cat slept"), defaults()), Sign(story("a:2", "The cat slept"), defaults())}
	gone := errors.New("disk on fire")
	_, err := Choose(context.Background(), sigs, func(string) (schemas.Story, error) { return schemas.Story{}, gone }, defaults())
	if !errors.Is(err, gone) || !strings.Contains(err.Error(), "a:1") {
		t.Errorf("fetch fails: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Choose(ctx, sigs, fetcher(nil), defaults()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, change := range []func(*Settings){
		func(s *Settings) { s.Shingle = 99 }, func(s *Settings) { s.Bands = -1 }, func(s *Settings) { s.Jaccard = 1.5 },
		func(s *Settings) { s.Containment = -1 }, func(s *Settings) { s.MaxCluster = -1 }, func(s *Settings) { s.Index = "faiss" },
		func(s *Settings) { s.Boilerplate = 1 },
	} {
		set := defaults()
		change(&set)
		if _, err := choose(set, a); err == nil || !strings.HasPrefix(err.Error(), "dedup: ") {
			t.Errorf("settings %+v: %v", set.DedupRecipe, err)
		}
	}
	other := defaults()
	other.Bands = 60
	if _, err := Choose(context.Background(), []Signature{Sign(story("a:1", newProse(1).text(100)), defaults())}, fetcher(nil), other); err == nil {
		t.Error("signed with other settings: no error")
	}
}

// TestTemporaryFiles: beyond the memory limit keys go to files, which are gone
// in the end, and what goes wrong with them is said.
func TestTemporaryFiles(t *testing.T) {
	p := newProse(14)
	var stories []schemas.Story
	for i := range 60 {
		tale := p.text(200)
		stories = append(stories, story(fmt.Sprintf("a:%d", i), tale), story(fmt.Sprintf("b:%d", i), p.edited(tale, 0.02)))
	}
	set := defaults()
	inMemory := mustChoose(t, set, stories...)
	set.Memory, set.TempDir = 8<<10, t.TempDir()
	x := NewIndex(set)
	for _, s := range stories {
		if err := x.Add(Sign(s, set)); err != nil {
			t.Fatal(err)
		}
	}
	if x.spill.file == nil || x.held > set.Memory {
		t.Fatalf("file %v, %d bytes of keys in memory", x.spill.file, x.held)
	}
	// A process that is killed here leaves nothing.
	if files, _ := os.ReadDir(set.TempDir); len(files) > 0 && runtime.GOOS != "windows" {
		t.Errorf("%s has a name", files[0].Name())
	}
	d, err := x.Choose(context.Background(), fetcher(stories))
	if err != nil {
		t.Fatal(err)
	}
	want(t, lines(d), inMemory...)
	if files, _ := os.ReadDir(set.TempDir); len(files) > 0 {
		t.Errorf("%s was left behind", files[0].Name())
	}
	set.TempDir = filepath.Join(set.TempDir, "gone")
	if _, err := choose(set, stories...); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("no such folder: %v", err)
	}
}

// naiveSet is a shingle set without hashing.
func naiveSet(s string, n int) map[string]bool {
	w := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	m := map[string]bool{}
	for i := 0; i+n <= len(w); i++ {
		m[strings.Join(w[i:i+n], " ")] = true
	}
	return m
}

// naive measures two texts without hashing.
func naive(x, y map[string]bool) (jaccard, containment float64) {
	both := 0
	for k := range x {
		if y[k] {
			both++
		}
	}
	if both == 0 {
		return 0, 0
	}
	return float64(both) / float64(len(x)+len(y)-both), float64(both) / float64(min(len(x), len(y)))
}

// checkSound recomputes the evidence: true figures, over a threshold, a kept
// story that stays.
func checkSound(t interface {
	Helper()
	Errorf(string, ...any)
}, d *Decisions, stories []schemas.Story, set Settings) {
	t.Helper()
	text := map[string]string{}
	for _, s := range stories {
		text[s.StoryID] = s.Text
	}
	for _, dup := range d.Duplicates {
		if _, ok := slices.BinarySearch(d.kept, dup.KeptID); !ok {
			t.Errorf("%s was set aside for %s, which does not stay", dup.StoryID, dup.KeptID)
		}
		if dup.Kind == KindExact {
			continue
		}
		j, c := naive(naiveSet(text[dup.StoryID], set.Shingle), naiveSet(text[dup.KeptID], set.Shingle))
		if round4(j) != dup.Jaccard || round4(c) != dup.Containment {
			t.Errorf("%+v: true Jaccard %.4f, containment %.4f", dup, j, c)
		}
		if (dup.Kind == KindNear) != (j >= set.Jaccard) || dup.Kind != KindNear && c < set.Containment/2 {
			t.Errorf("%+v: wrong kind", dup)
		}
	}
}

// library draws a small corpus full of near-duplicates, excerpts, copies and
// shared passages.
func library(t *rapid.T) []schemas.Story {
	p := newProse(rapid.Uint64().Draw(t, "seed"))
	preface := p.text(80)
	var stories []schemas.Story
	n := rapid.IntRange(1, 40).Draw(t, "stories")
	for i := range n {
		id := fmt.Sprintf("%c:%d", 'a'+rune(p.r.IntN(3)), i)
		kind := p.r.IntN(9)
		if len(stories) == 0 {
			kind = 0
		}
		var text string
		switch kind {
		case 0, 1:
			text = p.text(20 + p.r.IntN(150))
		case 2:
			text = p.text(p.r.IntN(12))
		case 3:
			text = stories[p.r.IntN(len(stories))].Text
		case 4, 5:
			text = p.edited(stories[p.r.IntN(len(stories))].Text, p.r.Float64()/5)
		case 6:
			w := strings.Fields(stories[p.r.IntN(len(stories))].Text)
			from := p.r.IntN(len(w) + 1)
			text = strings.Join(w[from:from+p.r.IntN(len(w)-from+1)], " ")
		case 7:
			text = preface + " " + p.text(20+p.r.IntN(150))
		default:
			text = stories[p.r.IntN(len(stories))].Text + " " + stories[p.r.IntN(len(stories))].Text
		}
		stories = append(stories, story(id, text))
	}
	return stories
}

// TestDecisionsDependOnTheStoriesAlone: any order, any number of workers and
// any memory limit give the same decisions, and the evidence is true.
func TestDecisionsDependOnTheStoriesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stories := library(t)
		set := defaults()
		set.MaxCluster = 0
		set.Corpora = []string{"b", "a"}
		if rapid.Bool().Draw(t, "earlier") {
			set.Earlier = map[string]bool{stories[rapid.IntRange(0, len(stories)-1).Draw(t, "kept")].StoryID: true}
		}
		base, err := choose(set, stories...)
		if err != nil {
			t.Fatal(err)
		}
		if len(base.kept)+len(base.Duplicates) != len(stories) {
			t.Fatalf("%d kept and %d duplicates of %d", len(base.kept), len(base.Duplicates), len(stories))
		}
		checkSound(t, base, stories, set)
		shuffled := slices.Clone(stories)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, change := range []func(*Settings){
			func(*Settings) {}, func(s *Settings) { s.Workers = 7 }, func(s *Settings) { s.Memory = 1 }, func(s *Settings) { s.Memory = 1 << 14; s.Workers = 2 },
		} {
			set := set
			change(&set)
			got, err := choose(set, shuffled...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(base, got, cmp.AllowUnexported(Decisions{})); diff != "" {
				t.Fatalf("decisions differ (-base +got):\n%s", diff)
			}
		}
	})
}

// TestNothingCloseIsMissed compares with brute force where the index may not
// miss: pairs that share half their shingles.
func TestNothingCloseIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stories := library(t)
		set := defaults()
		set.MaxCluster, set.Boilerplate = 0, 0
		d, err := choose(set, stories...)
		if err != nil {
			t.Fatal(err)
		}
		var kept []map[string]bool
		for _, s := range stories {
			if _, ok := slices.BinarySearch(d.kept, s.StoryID); ok && len(strings.Fields(s.Text)) >= WholeWords {
				kept = append(kept, naiveSet(s.Text, set.Shingle))
			}
		}
		for i, a := range kept {
			for _, b := range kept[i+1:] {
				if j, _ := naive(a, b); j >= 0.6 {
					t.Errorf("two stories of %d and %d shingles both stay at Jaccard %.3f", len(a), len(b), j)
				}
			}
		}
	})
}

func FuzzSign(f *testing.F) {
	for _, s := range []string{"", "The cat slept", "…", "a\xffb \xe2\x80", "ﷺ ﷺ", "½", strings.Repeat("猫", 300), strings.Repeat("word ", 2000), newProse(1).text(300)} {
		f.Add(s, 5, 42, 3)
	}
	f.Fuzz(func(t *testing.T, text string, shingle, bands, rows int) {
		set := defaults()
		set.Shingle, set.Bands, set.Rows = shingle%65, bands%60, rows%8
		if set.Check() != nil {
			t.Skip()
		}
		s := story("a:1", text)
		sig := Sign(s, set)
		var w signer
		w.fold(text)
		words := string(w.bytes())
		hashes := slices.Clone(w.hashes)
		w.hashWords(text)
		if !slices.Equal(hashes, w.hashes) {
			t.Errorf("%q: the fast path finds other words than %q", text, words)
		}
		w.fold(words)
		if got := string(w.bytes()); got != words {
			t.Errorf("folding twice: %q, then %q", words, got)
		}
		s.Text = words
		again := Sign(s, set)
		if len(w.hashes) > 0 {
			again.Litter = sig.Litter
			if diff := cmp.Diff(sig, again); diff != "" {
				t.Errorf("text and folded text sign differently:\n%s", diff)
			}
		}
		set = set.withDefaults()
		if n := len(sig.Keys); n != 0 && n < set.Bands {
			t.Errorf("%d keys for %d bands", n, set.Bands)
		}
		if d, err := choose(set, story("a:1", text), story("a:2", text)); err != nil || len(d.Duplicates) != 1 {
			t.Errorf("a text and itself: %+v, %v", d, err)
		}
	})
}
