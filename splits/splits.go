// SPDX-License-Identifier: Apache-2.0

// Package splits answers: which drafts are which rows, judged by which
// metrics?
//
//  1. [All] lists the evaluation configs as values: which tier of lengths,
//     which negatives, which metrics.
//  2. [Choose] selects rows by id from what is known of all drafts and stories
//     ([Item]); it holds no text.
//  3. [Row] turns one variant of a draft into the row that is released, and
//     [Original] a story nobody flawed.
//  4. [Audit] asks of a config's rows whether the label can be told from
//     surface features alone.
//
// A source story and everything made of it stay on one side of every cut.
package splits

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Names of splits inside a config.
const (
	Test   = "test"
	Hidden = "test_hidden" // ids and salted hashes are published, texts are not
	Train  = "train"       // the few-shot pool
)

// Names of configs.
const (
	FlawedFictions = "flawed_fictions"
	Long           = "flawed_fictions_long"
	Counterfactual = "flawed_fictions_cf"
	Resolved       = "flawed_fictions_resolved"
	Control        = "flawed_fictions_control"
	FewShot        = "few_shot"
)

// Split is one evaluation config.
type Split struct {
	Config string
	Doc    string
	// Long selects sources of the long tier, else the short one.
	Long bool
	// Positives says that the config holds the patched stories of its tier.
	Positives bool
	// Negative is the variant that serves as negative.
	Negative string
	Metrics  []string
}

// All lists the evaluation configs, the default one first. Sources and sizes
// are those of the FlawedFictions paper, section 4.3 and figure A4.
var All = []Split{
	{Config: FlawedFictions, Positives: true, Negative: schemas.VariantOriginal, Metrics: []string{"accuracy", "ceeval_pos", "ceeval_full"},
		Doc: "Short stories with a plot hole, and as many unmodified originals."},
	{Config: Long, Long: true, Positives: true, Negative: schemas.VariantOriginal, Metrics: []string{"accuracy", "ceeval_pos", "ceeval_full"},
		Doc: "The same for stories of 1,200 words and more."},
	{Config: Counterfactual, Positives: true, Negative: schemas.VariantCounterfactual, Metrics: []string{"accuracy", "ceeval_full"},
		Doc: "The positives of flawed_fictions, against stories rewritten as a whole so that they are consistent."},
	{Config: Resolved, Positives: true, Negative: schemas.VariantResolved, Metrics: []string{"accuracy", "ceeval_full"},
		Doc: "The positives of flawed_fictions, against the same stories with context that explains the error away."},
	{Config: Control, Negative: schemas.VariantEditControl, Metrics: []string{"accuracy"},
		Doc: "Stories in which the same kind of edit touches a fact that the first act never stated: edited, yet consistent."},
}

// Item is what selection knows of a draft or of a story: no text.
type Item struct {
	ID           string // match_id of a draft, story_id of a story
	GroupID      string
	Corpus       string
	Words        int    // of the source
	Public       bool   // schemas.Source.MayReleaseText
	Terms        string // schemas.Source.Redistribute, to name it where it is not
	Verification string
	Variants     []string // what a draft holds
	Class        string
	// What quotas ask about; of a draft.
	Kind, Subtype, Severity string
	Difficulty              *schemas.Difficulty
}

// DraftItem describes a draft.
func DraftItem(d schemas.Draft, verification string) Item {
	it := Item{ID: d.MatchID, GroupID: d.GroupID, Corpus: d.Source.Corpus, Words: d.SourceWords, Verification: verification,
		Public: d.Source.MayReleaseText(), Terms: d.Source.Redistribute}
	for _, v := range []*schemas.Variant{d.Patched, d.Counterfactual, d.Resolved, d.EditControl} {
		if v != nil {
			it.Variants = append(it.Variants, v.Name)
		}
	}
	if f := d.Flaw; f != nil {
		it.Class, it.Kind, it.Subtype, it.Severity = f.Class, f.Kind, f.Subtype, f.Severity
	}
	it.Difficulty = d.Difficulty
	return it
}

// StoryItem describes a story.
func StoryItem(s schemas.Story) Item {
	return Item{ID: s.StoryID, GroupID: s.GroupID, Corpus: s.Source.Corpus, Words: s.Words,
		Public: s.Source.MayReleaseText(), Terms: s.Source.Redistribute}
}

func (it Item) has(variant string) bool { return slices.Contains(it.Variants, variant) }

// Choice is one row to be made: a variant of the draft (or, for originals, of
// the story) ID.
type Choice struct {
	Config  string
	Split   string
	Variant string
	ID      string
	GroupID string
	// Verification is the row's: of an original, none is needed.
	Verification string
	// FromStory says that ID is a story's: an original that comes from no draft.
	FromStory bool
}

// ExampleID is the id of the row that will be made.
func (c Choice) ExampleID() string {
	if c.Variant == schemas.VariantOriginal {
		return schemas.ExampleID(c.GroupID, c.Variant)
	}
	return schemas.ExampleID(c.ID, c.Variant)
}

// Shortfall says how many rows of a kind a config wanted and got.
type Shortfall struct {
	Config string `json:"config"`
	What   string `json:"what"`
	Wanted int    `json:"wanted"`
	Got    int    `json:"got"`
}

func (s Shortfall) String() string {
	return fmt.Sprintf("%s: wanted %d %s, got %d", s.Config, s.Wanted, s.What, s.Got)
}

// Choices is the outcome of [Choose].
type Choices struct {
	Rows       []Choice // by config in the order of All, split, variant, id
	Shortfalls []Shortfall
	Dropped    []schemas.Dropped
}

// Choose selects the rows of all configs. Drafts are candidates for positives
// and what derives from them, stories for originals. Everything random is
// drawn from seed and ids, so neither order nor number of the inputs' readers
// matters. Items whose text no release may carry are set aside (reason terms).
func Choose(drafts, stories []Item, set schemas.SplitsRecipe, seed uint64) Choices {
	c := chooser{set: set, seed: seed, rank: map[string]uint64{}}
	drafts, stories = c.released(drafts), c.released(stories)
	c.shuffle(drafts, "draft")
	c.shuffle(stories, "story")

	pool := c.fewShot(drafts)
	drafts = slices.DeleteFunc(drafts, func(it Item) bool { return pool[it.GroupID] })
	stories = slices.DeleteFunc(stories, func(it Item) bool { return pool[it.GroupID] })

	for _, s := range All {
		c.split(s, drafts, stories)
	}
	slices.SortStableFunc(c.out.Rows, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(Order(a.Config), Order(b.Config)), strings.Compare(a.Split, b.Split),
			strings.Compare(a.Variant, b.Variant), strings.Compare(a.ID, b.ID))
	})
	return c.out
}

type chooser struct {
	set  schemas.SplitsRecipe
	seed uint64
	rank map[string]uint64
	out  Choices
}

// released returns the items whose texts a release may carry. What the terms
// of its corpus keep back is set aside: prompts can still be made from it.
func (c *chooser) released(items []Item) []Item {
	var out []Item
	for _, it := range items {
		if it.Public {
			out = append(out, it)
			continue
		}
		c.out.Dropped = append(c.out.Dropped, schemas.Dropped{ID: it.ID, Stage: "splits", Reason: "terms",
			Detail: fmt.Sprintf("the terms of %s let a release carry %q, not the text", it.Corpus, it.Terms)})
	}
	return out
}

// split adds the rows of one config.
func (c *chooser) split(s Split, drafts, stories []Item) {
	positives, short := c.positives(s.Long, drafts)
	if s.Positives {
		for _, f := range short {
			c.short(s.Config, f.What, f.Wanted, f.Got)
		}
	}
	if s.Positives {
		for _, d := range positives {
			c.add(s.Config, schemas.VariantPatched, d, d.Verification)
		}
	}
	if s.Negative != schemas.VariantOriginal {
		n := 0
		for _, d := range positives {
			if d.has(s.Negative) {
				c.add(s.Config, s.Negative, d, d.Verification)
				n++
			}
		}
		if n < len(positives) {
			c.short(s.Config, s.Negative, len(positives), n)
		}
		return
	}
	// Originals: of the positives' own sources first, then of others, each once.
	wanted := map[string]bool{}
	for _, d := range positives {
		wanted[d.GroupID] = true
	}
	taken := map[string]bool{}
	for _, own := range []bool{true, false} {
		for _, st := range stories {
			if len(taken) == len(positives) {
				break
			}
			if wanted[st.GroupID] == own && !taken[st.GroupID] && c.inTier(st, s.Long) {
				taken[st.GroupID] = true
				c.add(s.Config, schemas.VariantOriginal, st, "")
				c.out.Rows[len(c.out.Rows)-1].FromStory = true
			}
		}
	}
	if len(taken) < len(positives) {
		c.short(s.Config, schemas.VariantOriginal, len(positives), len(taken))
	}
}

func (c *chooser) add(config, variant string, it Item, verification string) {
	split := Test
	if c.hidden(it.GroupID) {
		split = Hidden
	}
	c.out.Rows = append(c.out.Rows, Choice{Config: config, Split: split, Variant: variant, ID: it.ID, GroupID: it.GroupID, Verification: verification})
}

func (c *chooser) short(config, what string, wanted, got int) {
	c.out.Shortfalls = append(c.out.Shortfalls, Shortfall{Config: config, What: what, Wanted: wanted, Got: got})
}

func (c *chooser) inTier(it Item, long bool) bool {
	if long {
		return it.Words >= c.set.LongMinWords && it.Words <= c.set.LongMaxWords && allowed(c.set.LongCorpora, it.Corpus)
	}
	return it.Words <= c.set.ShortMaxWords && allowed(c.set.ShortCorpora, it.Corpus)
}

func allowed(list []string, corpus string) bool {
	return len(list) == 0 || slices.Contains(list, corpus)
}

// fewShot sets sources apart for prompts and returns their groups. Each pair is
// a short positive and its own original; classes differ where they can.
func (c *chooser) fewShot(drafts []Item) map[string]bool {
	pool := map[string]bool{}
	classes := map[string]bool{}
	for _, fresh := range []bool{true, false} {
		for _, d := range drafts {
			if len(pool) == c.set.FewShot {
				return pool
			}
			if pool[d.GroupID] || !c.inTier(d, false) || !d.has(schemas.VariantPatched) || fresh && classes[d.Class] {
				continue
			}
			pool[d.GroupID], classes[d.Class] = true, true
			for _, v := range []string{schemas.VariantPatched, schemas.VariantOriginal} {
				// Both come from the draft: its original is the source story.
				c.out.Rows = append(c.out.Rows, Choice{Config: FewShot, Split: Train, Variant: v, ID: d.ID, GroupID: d.GroupID, Verification: d.Verification})
			}
		}
	}
	if len(pool) < c.set.FewShot {
		c.short(FewShot, "pairs", c.set.FewShot, len(pool))
	}
	return pool
}

// hidden draws a source for test_hidden.
func (c *chooser) hidden(group string) bool {
	return c.set.HiddenShare > 0 && float64(c.draw("hidden", group)>>11)/(1<<53) < c.set.HiddenShare
}

func (c *chooser) shuffle(items []Item, what string) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(c.draw(what, a.ID), c.draw(what, b.ID)), strings.Compare(a.ID, b.ID))
	})
}

// draw gives 64 bits from (seed, purpose, id).
func (c *chooser) draw(what, id string) uint64 {
	key := what + "\x00" + id
	if n, ok := c.rank[key]; ok {
		return n
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "splits|%d|%s|%s", c.seed, what, id))
	n := binary.BigEndian.Uint64(sum[:])
	c.rank[key] = n
	return n
}

// Configs lists the names of all configs of example rows, in release order.
func Configs() []string {
	var names []string
	for _, s := range All {
		names = append(names, s.Config)
	}
	return append(names, FewShot)
}

// Order is a config's place in [Configs].
func Order(config string) int {
	for i, s := range All {
		if s.Config == config {
			return i
		}
	}
	return len(All)
}
