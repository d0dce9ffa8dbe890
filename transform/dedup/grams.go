// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/retcon-bench/retcon/schemas"
)

// GramSettings are those of decontamination. Zero values stand for the
// defaults.
type GramSettings struct {
	Words int // of a gram; 13

	// Least is the fewest words of an item that is looked for; 8. Items
	// shorter than a gram are looked for whole, shorter ones than this not at
	// all, since such phrases stand everywhere.
	Least int

	// A story is contaminated when so much of one item stands in it (0.5),
	// or when so much of it stands in items (0.1). Shares are of words.
	ItemShare, StoryShare float64
}

func (g GramSettings) withDefaults() GramSettings {
	g.Words = cmp.Or(g.Words, 13)
	g.Least = min(cmp.Or(g.Least, LeastWords), g.Words)
	g.ItemShare = cmp.Or(g.ItemShare, 0.5)
	g.StoryShare = cmp.Or(g.StoryShare, 0.1)
	return g
}

// LeastWords is the default of [GramSettings.Least].
const LeastWords = 8

// Contaminated is the reason of [Contamination.Dropped].
const Contaminated = "contaminated"

// Grams is an index of benchmark items, in which stories are looked up word
// gram by word gram: a rolling hash, a filter that refuses nearly all of what
// no item holds, then a table. Every hit is verified on the words.
//
// It holds the folded words of the items with about 30 bytes each.
type Grams struct {
	set    GramSettings
	items  []gramItem
	short  int
	text   []byte   // folded words of all items
	starts []uint32 // of each word in text; one more at the end
	places []schemas.Bounds
	tables []gramTable
}

// Item is a benchmark's text. ID says where it stands, such as file:line.
type Item struct{ ID, Text string }

type gramItem struct {
	id    string
	first int // word
	words int
}

// gramTable finds grams of one length.
type gramTable struct {
	n      int
	grams  []gram // by hash, then by word
	filter []uint64
	shift  int
}

type gram struct {
	hash uint64
	word uint32 // its first
}

// ReadGrams indexes benchmark items.
func ReadGrams(items iter.Seq2[Item, error], set GramSettings) (*Grams, error) {
	g := &Grams{set: set.withDefaults()}
	switch s := g.set; {
	case s.Words < 1 || s.Words > 1000 || s.Least < 1:
		return nil, fmt.Errorf("dedup: grams of %d words and items of at least %d; both must be 1 to 1000", s.Words, s.Least)
	case !(s.ItemShare > 0 && s.ItemShare <= 1) || !(s.StoryShare > 0 && s.StoryShare <= 1):
		return nil, fmt.Errorf("dedup: shares of %v and %v; both must be over 0 and at most 1", s.ItemShare, s.StoryShare)
	}
	var w signer
	for item, err := range items {
		if err == nil {
			err = g.add(&w, item)
		}
		if err != nil {
			return nil, fmt.Errorf("dedup: reading benchmark items: %w", err)
		}
	}
	g.starts = append(g.starts, uint32(len(g.text)))
	for i := range g.tables {
		g.tables[i].build()
	}
	return g, nil
}

func (g *Grams) add(w *signer, it Item) error {
	w.fold(it.Text)
	n := len(w.hashes)
	if n < g.set.Least {
		g.short++
		return nil
	}
	if len(g.text)+w.len > 1<<32-1 {
		return fmt.Errorf("%s: more than 4 GiB of text", it.ID)
	}
	first := len(g.starts)
	g.items = append(g.items, gramItem{it.ID, first, n})
	for i, b := range w.bytes() {
		if i == 0 || w.text[i-1] == ' ' {
			g.starts = append(g.starts, uint32(len(g.text)))
		}
		g.text = append(g.text, b)
	}
	g.places = append(g.places, places(it.Text)...)
	size := min(n, g.set.Words)
	at := slices.IndexFunc(g.tables, func(t gramTable) bool { return t.n == size })
	if at < 0 {
		at = len(g.tables)
		g.tables = append(g.tables, gramTable{n: size})
	}
	t := &g.tables[at]
	w.shingles = appendShingles(w.shingles[:0], w.hashes, size)
	for i, h := range w.shingles {
		t.grams = append(t.grams, gram{h, uint32(first + i)})
	}
	return nil
}

// Items returns how many items are looked for, and how many were too short.
func (g *Grams) Items() (items, short int) { return len(g.items), g.short }

// build sorts the table and fills its filter.
func (t *gramTable) build() {
	slices.SortFunc(t.grams, func(a, b gram) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.word, b.word)) })
	bits := 6
	for 1<<bits < 16*len(t.grams) {
		bits++
	}
	t.filter = make([]uint64, 1<<(bits-6))
	t.shift = 64 - bits
	for _, g := range t.grams {
		b := g.hash >> t.shift
		t.filter[b>>6] |= 1 << (b & 63)
	}
}

// find returns the grams of a hash.
func (t *gramTable) find(h uint64) []gram {
	b := h >> t.shift
	if t.filter[b>>6]&(1<<(b&63)) == 0 {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.grams, h, func(g gram, h uint64) int { return cmp.Compare(g.hash, h) })
	if !ok {
		return nil
	}
	j := i + 1
	for j < len(t.grams) && t.grams[j].hash == h {
		j++
	}
	return t.grams[i:j]
}

// Hit is a passage that a story and an item share, as long as it goes.
type Hit struct {
	Item    string         `json:"item"`
	Words   int            `json:"words"`
	InStory schemas.Bounds `json:"in_story"` // code points
	InItem  schemas.Bounds `json:"in_item"`
}

// Contamination is what Scan found in one story.
type Contamination struct {
	StoryID    string  `json:"story_id"`
	Hits       []Hit   `json:"hits"`
	StoryShare float64 `json:"story_share"` // of the story's words that stand in items
	ItemShare  float64 `json:"item_share"`  // the largest share of one item that stands in the story
	Item       string  `json:"item"`        // that item
	// Omitted counts further places of grams that stand in more than
	// gramPlaces items.
	Omitted int  `json:"omitted"`
	Over    bool `json:"over"` // a share is at or over its threshold
}

// gramPlaces is the most items that one gram of a story is traced to.
const gramPlaces = 64

// Scan looks a story up. Hits are in story order. Many goroutines may call it
// at a time.
func (g *Grams) Scan(s schemas.Story) Contamination {
	c := Contamination{StoryID: s.StoryID}
	w := workers.Get().(*signer)
	defer workers.Put(w)
	w.fold(s.Text)
	var runs []gramRun
	for i := range g.tables {
		t := &g.tables[i]
		if len(w.hashes) >= t.n {
			w.shingles = appendShingles(w.shingles[:0], w.hashes, t.n)
			runs = g.scan(runs, t, w, &c)
		}
	}
	if len(runs) == 0 {
		return c
	}
	slices.SortFunc(runs, func(a, b gramRun) int { return cmp.Or(a.story-b.story, a.word-b.word) })
	at := places(s.Text)
	covered := make([]bool, len(w.hashes))
	inItem := map[string]map[int]bool{}
	for _, r := range runs {
		it := g.itemAt(r.word)
		c.Hits = append(c.Hits, Hit{
			Item: it.id, Words: r.words,
			InStory: schemas.Bounds{Start: at[r.story].Start, End: at[r.story+r.words-1].End},
			InItem:  schemas.Bounds{Start: g.places[r.word].Start, End: g.places[r.word+r.words-1].End},
		})
		if inItem[it.id] == nil {
			inItem[it.id] = map[int]bool{}
		}
		for i := range r.words {
			covered[r.story+i] = true
			inItem[it.id][r.word+i] = true
		}
		if share := float64(len(inItem[it.id])) / float64(it.words); share > c.ItemShare {
			c.ItemShare, c.Item = share, it.id
		}
	}
	n := 0
	for _, yes := range covered {
		if yes {
			n++
		}
	}
	c.StoryShare = float64(n) / float64(len(covered))
	c.Over = c.StoryShare >= g.set.StoryShare || c.ItemShare >= g.set.ItemShare
	c.StoryShare, c.ItemShare = round4(c.StoryShare), round4(c.ItemShare)
	return c
}

// gramRun is a hit in words.
type gramRun struct{ story, word, words int }

// scan finds the runs of one table: grams that follow each other in the story
// and in the item alike are one run.
func (g *Grams) scan(runs []gramRun, t *gramTable, w *signer, c *Contamination) []gramRun {
	open := map[int]int{} // word - story -> run
	words := w.bytes()
	starts := []int(nil)
	for i, h := range w.shingles {
		found := t.find(h)
		if len(found) > gramPlaces {
			c.Omitted += len(found) - gramPlaces
			found = found[:gramPlaces]
		}
		for _, f := range found {
			if starts == nil {
				starts = wordStarts(words)
			}
			here := words[starts[i]:starts[i+t.n]]
			there := g.text[g.starts[f.word]:g.starts[int(f.word)+t.n]]
			if !bytes.Equal(here, there) {
				continue
			}
			diagonal := int(f.word) - i
			if r, ok := open[diagonal]; ok && runs[r].story+runs[r].words >= i {
				runs[r].words = i + t.n - runs[r].story
				continue
			}
			open[diagonal] = len(runs)
			runs = append(runs, gramRun{i, int(f.word), t.n})
		}
	}
	return runs
}

func (g *Grams) itemAt(word int) gramItem {
	i, _ := slices.BinarySearchFunc(g.items, word+1, func(it gramItem, w int) int { return cmp.Compare(it.first, w) })
	return g.items[i-1]
}

// wordStarts returns where each word of a folded text starts, and its length.
func wordStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == ' ' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// Dropped is the record of a story that is set aside for its contamination;
// nil when it is under both thresholds.
func (c Contamination) Dropped() *schemas.Dropped {
	if !c.Over {
		return nil
	}
	d := &schemas.Dropped{
		ID: c.StoryID, Stage: "dedup", Reason: Contaminated,
		Detail: fmt.Sprintf("%d passages stand in benchmark items, %.1f %% of the story and %.1f %% of %s.", len(c.Hits), 100*c.StoryShare, 100*c.ItemShare, c.Item),
		Evidence: []schemas.KeyValue{
			{Key: "story_share", Value: strconv.FormatFloat(c.StoryShare, 'f', 4, 64)},
			{Key: "item_share", Value: strconv.FormatFloat(c.ItemShare, 'f', 4, 64)},
			{Key: "item", Value: c.Item},
		},
	}
	for _, h := range c.Hits[:min(len(c.Hits), 20)] {
		d.Evidence = append(d.Evidence, schemas.KeyValue{
			Key:   "hit",
			Value: fmt.Sprintf("%d words, story [%d,%d), %s [%d,%d)", h.Words, h.InStory.Start, h.InStory.End, h.Item, h.InItem.Start, h.InItem.End),
		})
	}
	return d
}

// places returns where the words of s stand, in code points. It cuts s as fold
// does, rune by rune.
func places(s string) []schemas.Bounds {
	var out []schemas.Bounds
	start, end, at := -1, 0, -1
	flush := func() {
		if start >= 0 {
			out = append(out, schemas.Bounds{Start: start, End: end})
			start = -1
		}
	}
	add := func() {
		if start < 0 {
			start = at
		}
		end = at + 1
	}
	for _, r := range s {
		at++
		if r < 0x80 {
			switch k := classes[byte(r)]; {
			case k > nothing:
				add()
			case k < nothing:
				flush()
			}
			continue
		}
		what, fold := foldRune(r)
		switch what {
		case parts:
			flush()
		case ownWord:
			flush()
			add()
			flush()
		case partOfWord:
			for i := range len(fold) {
				if fold[i] == ' ' {
					flush()
				} else {
					add()
				}
			}
		}
	}
	flush()
	return out
}
