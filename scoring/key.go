// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Side is one of the two sentence sets of a plot hole.
type Side int

// The two sides, in the order of the answer's fields.
const (
	SideError        Side = iota // sentences that introduce the error
	SideContradicted             // earlier sentences they contradict
)

// String gives a side the name it has in a [schemas.SentenceVote].
func (s Side) String() string {
	if s == SideError {
		return "error"
	}
	return "contradicted"
}

// Item is one row of a [Key]: what is true of it, without its text.
type Item struct {
	ID       string
	Group    string // source story; bootstrap and permutation resample groups
	Match    string // source and fact; the group for an original
	Variant  string
	TextHash string
	Error    bool     // the label: does the story hold a continuity error?
	Gold     [2][]int // sentence ids of each [Side], ascending; nil on negatives
	// Sentences is the number of frozen sentences.
	Sentences int
	Words     int

	Kind, Subtype, Class, Severity string // of the flaw; empty on negatives
	NegativeKind                   string
	Verification                   string
	Corpus                         string
	Importance                     int // 0 where unknown
	Difficulty                     *schemas.Difficulty

	index *storyIndex
	group int // position of Group in the key's groups
	pos   int // position in the key
}

// Label is the item's label as rows spell it.
func (it *Item) Label() string {
	if it.Error {
		return schemas.LabelError
	}
	return schemas.LabelConsistent
}

// Key is an answer key: the rows of one config, indexed for scoring. It is
// read-only once made, and safe for use from many goroutines.
type Key struct {
	// Config names the rows. Release is name@version and Digest the rows'
	// logical digest; predictions that name others are refused. Empty ones
	// are not compared.
	Config, Release, Digest string

	items  []*Item
	byID   map[string]*Item
	groups []string
}

// NewKey reads the rows of a config. It checks what scoring rests on: unique
// ids, known labels, sentences inside the story, gold sentences on every
// positive row.
func NewKey(config string, rows iter.Seq2[schemas.Example, error]) (*Key, error) {
	k := &Key{Config: config, byID: map[string]*Item{}}
	groups := map[string]int{}
	n := 0
	for row, err := range rows {
		if err != nil {
			return nil, fmt.Errorf("reading rows of %s: %w", config, err)
		}
		n++
		it, err := newItem(&row)
		if err != nil {
			return nil, fmt.Errorf("%s, row %d (%s): %w", config, n, row.ExampleID, err)
		}
		if k.byID[it.ID] != nil {
			return nil, fmt.Errorf("%s, row %d: example_id %s stands in the rows twice", config, n, it.ID)
		}
		g, ok := groups[it.Group]
		if !ok {
			g = len(k.groups)
			groups[it.Group] = g
			k.groups = append(k.groups, it.Group)
		}
		it.group, it.pos = g, len(k.items)
		k.items = append(k.items, it)
		k.byID[it.ID] = it
	}
	if n == 0 {
		return nil, fmt.Errorf("%s holds no rows: nothing to score against", config)
	}
	return k, nil
}

// KeyOf is [NewKey] for rows already in memory.
func KeyOf(config string, rows ...schemas.Example) (*Key, error) {
	return NewKey(config, func(yield func(schemas.Example, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// Items returns the rows in the order they were read. Do not change them.
func (k *Key) Items() []*Item { return k.items }

// Item returns the row called id, or nil.
func (k *Key) Item(id string) *Item { return k.byID[id] }

// Restrict returns a key of the rows that keep holds for, in the same order:
// a sample that people answered, rows without accepted false positives.
func (k *Key) Restrict(keep func(*Item) bool) *Key {
	out := &Key{Config: k.Config, Release: k.Release, Digest: k.Digest, byID: map[string]*Item{}}
	groups := map[string]int{}
	for _, it := range k.items {
		if !keep(it) {
			continue
		}
		c := *it
		g, ok := groups[it.Group]
		if !ok {
			g = len(out.groups)
			groups[it.Group] = g
			out.groups = append(out.groups, it.Group)
		}
		c.group, c.pos = g, len(out.items)
		out.items = append(out.items, &c)
		out.byID[c.ID] = &c
	}
	return out
}

func newItem(row *schemas.Example) (*Item, error) {
	it := &Item{
		ID: row.ExampleID, Group: row.GroupID, Match: row.MatchID, Variant: row.Variant,
		TextHash: row.TextHash, Sentences: len(row.Sentences), Words: row.Words,
		Verification: row.Verification, Corpus: row.Source.Corpus, Difficulty: row.Difficulty,
		Kind: deref(row.FlawKind), Subtype: deref(row.FlawSubtype), Class: deref(row.FlawClass),
		Severity:     deref(row.Severity),
		NegativeKind: deref(row.NegativeKind),
	}
	if row.Importance != nil {
		it.Importance = *row.Importance
	}
	if it.ID == "" {
		return nil, errors.New("no example_id")
	}
	if it.Group == "" {
		it.Group = it.ID // a story of its own
	}
	if it.Match == "" {
		it.Match = it.Group
	}
	if it.TextHash == "" {
		it.TextHash = schemas.HashText(row.Story)
	} else if want := schemas.HashText(row.Story); want != it.TextHash {
		return nil, fmt.Errorf("text_hash is %s but the story hashes to %s: the rows were edited", it.TextHash, want)
	}
	if it.Words == 0 {
		it.Words = text.Words(row.Story)
	}
	switch row.Label {
	case schemas.LabelError:
		it.Error = true
	case schemas.LabelConsistent:
	default:
		return nil, fmt.Errorf("label %q is neither %q nor %q", row.Label, schemas.LabelError, schemas.LabelConsistent)
	}
	if len(row.Sentences) == 0 {
		return nil, errors.New("no sentences: scoring needs the row's frozen sentence bounds")
	}
	sentences, err := cut(row.Story, row.Sentences)
	if err != nil {
		return nil, err
	}
	if it.Error {
		for side, spans := range [2][]schemas.Span{row.ErrorSpans, row.ContradictedSpans} {
			gold, err := goldSentences(row.Sentences, spans)
			if err != nil {
				return nil, fmt.Errorf("%s_spans: %w", Side(side), err)
			}
			if len(gold) == 0 {
				return nil, fmt.Errorf("%s_spans is empty on a row labelled %q: localisation has no truth", Side(side), row.Label)
			}
			it.Gold[side] = gold
		}
	}
	it.index = newStoryIndex(sentences)
	return it, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// cut returns the texts of the sentences, whose bounds count code points.
func cut(story string, bounds []schemas.Bounds) ([]string, error) {
	ix := text.NewIndex(story)
	out := make([]string, len(bounds))
	for i, b := range bounds {
		sp, err := ix.FromRunes(b.Start, b.End)
		if err != nil {
			return nil, fmt.Errorf("sentence %d: %w", i, err)
		}
		if i > 0 && b.Start < bounds[i-1].End {
			return nil, fmt.Errorf("sentence %d starts at %d, inside the one before it, which ends at %d", i, b.Start, bounds[i-1].End)
		}
		out[i] = story[sp.ByteStart:sp.ByteEnd]
	}
	return out, nil
}

// goldSentences returns the sentence ids of spans, ascending and once each. A
// span that names no sentence (-1) stands for all sentences it overlaps.
func goldSentences(bounds []schemas.Bounds, spans []schemas.Span) ([]int, error) {
	var out []int
	for _, sp := range spans {
		switch {
		case sp.Sentence >= len(bounds):
			return nil, fmt.Errorf("names sentence %d of a story with %d", sp.Sentence, len(bounds))
		case sp.Sentence >= 0:
			out = append(out, sp.Sentence)
		default:
			for i, b := range bounds {
				if b.Start < sp.End && sp.Start < b.End {
					out = append(out, i)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// storyIndex finds quotes in one story, for both scorers.
type storyIndex struct {
	// Default scorer. A story's folded words get numbers; stream is the whole
	// story, starts[i] where sentence i begins in it (one more at the end).
	vocab    map[string]int32
	guard    []bool // by word number
	stream   []int32
	sentence []int32 // of each word of the stream
	starts   []int32
	grams    []gram  // all 4 word runs, sorted
	short    []int32 // sentences of 1 to 3 words
	// Postings: sentences that hold a word, with how often. offsets is by word
	// number into postings.
	offsets  []int32
	postings []posting
	guards   [][]int32 // the guarded words of each sentence, in order
	longest  int       // words of the longest sentence
	// whole maps the text of each sentence to the sentences that it quotes
	// when quoted faithfully, which is what most quotes are; nil for one that
	// stands in too many places.
	whole map[string][]int32

	// Compat scorer: sentences in its own form, and the first sentence with
	// the same text for each (its sets hold texts, not ids).
	plain []string
	first []int32
}

type gram struct {
	hash uint32
	pos  int32
}

type posting struct{ sentence, count int32 }

// minWords is the length from which a part of a sentence counts as a quote of it.
const minWords = 4

func newStoryIndex(sentences []string) *storyIndex {
	ix := &storyIndex{
		vocab:  map[string]int32{},
		starts: make([]int32, 0, len(sentences)+1),
		guards: make([][]int32, len(sentences)),
		plain:  make([]string, len(sentences)),
		first:  make([]int32, len(sentences)),
	}
	var buf []byte
	var words []wordRange
	seen := map[string]int32{}
	for i, s := range sentences {
		ix.starts = append(ix.starts, int32(len(ix.stream)))
		buf, words = appendWords(buf[:0], words[:0], s)
		for _, w := range words {
			id, ok := ix.vocab[string(buf[w.start:w.end])]
			if !ok {
				id = int32(len(ix.vocab))
				ix.vocab[string(buf[w.start:w.end])] = id
				ix.guard = append(ix.guard, guarded(buf[w.start:w.end]))
			}
			if ix.guard[id] {
				ix.guards[i] = append(ix.guards[i], id)
			}
			ix.stream = append(ix.stream, id)
			ix.sentence = append(ix.sentence, int32(i))
		}
		ix.longest = max(ix.longest, len(words))
		if n := len(words); n > 0 && n < minWords {
			ix.short = append(ix.short, int32(i))
		}
		ix.plain[i] = compatForm(s)
		if f, ok := seen[strings.TrimSpace(s)]; ok {
			ix.first[i] = f
		} else {
			ix.first[i] = int32(i)
			seen[strings.TrimSpace(s)] = int32(i)
		}
	}
	ix.starts = append(ix.starts, int32(len(ix.stream)))

	for p := 0; p+minWords <= len(ix.stream); p++ {
		ix.grams = append(ix.grams, gram{hashGram(ix.stream[p:]), int32(p)})
	}
	slices.SortFunc(ix.grams, func(a, b gram) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return int(a.pos - b.pos)
	})
	ix.post()
	ix.whole = make(map[string][]int32, len(sentences))
	m := new(mapper)
	for _, s := range sentences {
		s = outerMarks(s)
		if _, ok := ix.whole[s]; ok {
			continue
		}
		m.found = m.found[:0]
		m.fold(ix, s)
		switch m.verbatim(ix) {
		case located:
			ix.whole[s] = slices.Clone(m.found)
		case ambiguous:
			ix.whole[s] = nil
		}
	}
	return ix
}

// outerMarks takes blanks and quote marks off both ends. Neither is part of a
// word, so that it changes nothing of what a quote folds to.
func outerMarks(s string) string { return strings.Trim(s, " \"“”\n") }

// post fills the postings from the stream.
func (ix *storyIndex) post() {
	lists := make([][]posting, len(ix.vocab))
	for p, w := range ix.stream {
		s := ix.sentence[p]
		if l := lists[w]; len(l) > 0 && l[len(l)-1].sentence == s {
			l[len(l)-1].count++
		} else {
			lists[w] = append(l, posting{s, 1})
		}
	}
	ix.offsets = make([]int32, len(lists)+1)
	for w, l := range lists {
		ix.postings = append(ix.postings, l...)
		ix.offsets[w+1] = int32(len(ix.postings))
	}
}

// hashGram hashes the first minWords word numbers of w.
func hashGram(w []int32) uint32 {
	h := uint64(14695981039346656037)
	for _, v := range w[:minWords] {
		h = (h ^ uint64(uint32(v))) * 1099511628211
	}
	return uint32(h ^ h>>32)
}
