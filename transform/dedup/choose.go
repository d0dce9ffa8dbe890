// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// ClusterError stops a run in which one story has more duplicates than
// DedupRecipe.MaxCluster allows: a sign of broken input (a placeholder text, a
// licence page in every record), not of a popular tale.
type ClusterError struct {
	KeptID   string
	Size     int // stories, the kept one among them
	Max      int
	Evidence []schemas.Duplicate // of every story in it, sorted by story_id
}

func (e *ClusterError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dedup: %d stories are duplicates of %s, more than max_cluster %d:", e.Size-1, e.KeptID, e.Max)
	for i, d := range e.Evidence {
		if i == 5 {
			fmt.Fprintf(&b, " and %d more", len(e.Evidence)-i)
			break
		}
		fmt.Fprintf(&b, " %s (%s, Jaccard %.4f, containment %.4f),", d.StoryID, d.Kind, d.Jaccard, d.Containment)
	}
	return strings.TrimSuffix(b.String(), ",") + "; look at the texts, then mend the corpus or raise dedup.max_cluster"
}

// Decisions says what becomes of every story that Choose saw.
type Decisions struct {
	// Duplicates is the evidence: one line for each story that does not stay,
	// sorted by story_id.
	Duplicates []schemas.Duplicate

	kept map[string]bool
}

// Choose decides which stories stay. fetch reads a story back; it is called
// for the stories of candidate pairs only, at most one text a worker is held
// beside a bounded number of shingle sets. The decisions depend on the stories
// and the settings alone, not on the order of sigs.
//
// Errors: two signatures of one id, a fetch that fails, settings out of range,
// and [*ClusterError].
func Choose(ctx context.Context, sigs []Signature, fetch func(id string) (schemas.Story, error), set Settings) (*Decisions, error) {
	if err := set.check(); err != nil {
		return nil, err
	}
	c := &chooser{ctx: ctx, fetch: fetch, set: set.withDefaults(), sigs: slices.Clone(sigs), cache: map[int]*shingled{}}
	slices.SortFunc(c.sigs, c.before)
	seen := map[string]bool{}
	for _, s := range c.sigs {
		if s.ID == "" || seen[s.ID] {
			return nil, fmt.Errorf("dedup: two stories have the id %q", s.ID)
		}
		seen[s.ID] = true
	}
	return c.choose()
}

// chooser works on signatures in order of preference.
type chooser struct {
	ctx   context.Context
	fetch func(id string) (schemas.Story, error)
	set   Settings
	sigs  []Signature
	cache map[int]*shingled
	w     signer
}

// before is the order in which copies are preferred.
func (c *chooser) before(a, b Signature) int {
	early := func(s Signature) int {
		if c.set.Earlier[s.ID] {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(early(a), early(b)), cmp.Compare(a.Corpus, b.Corpus), cmp.Compare(b.Words, a.Words),
		cmp.Compare(a.Litter, b.Litter), cmp.Compare(a.ID, b.ID))
}

// edge says that two stories, the preferred one first, are duplicates.
type edge struct {
	a, b   int
	kind   string
	shared int // bands
	overlap
}

func (c *chooser) choose() (*Decisions, error) {
	edges, err := c.exact()
	if err != nil {
		return nil, err
	}
	near, err := c.near()
	if err != nil {
		return nil, err
	}
	return c.decide(append(edges, near...))
}

// exact joins stories of equal folded text to the first of them.
func (c *chooser) exact() ([]edge, error) {
	type key struct {
		hash  [2]uint64
		query bool
	}
	groups := map[key][]int{}
	var order []key
	for i, s := range c.sigs {
		k := key{s.Hash, s.Query}
		if len(groups[k]) == 0 {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var edges []edge
	for _, k := range order {
		group := groups[k]
		for len(group) > 1 { // more than once only when hashes collide
			first, err := c.folded(group[0])
			if err != nil {
				return nil, err
			}
			var rest []int
			for _, i := range group[1:] {
				other, err := c.folded(i)
				if err != nil {
					return nil, err
				}
				if bytes.Equal(first, other) {
					edges = append(edges, edge{a: group[0], b: i, kind: KindExact, overlap: overlap{1, 1}, shared: c.set.Bands})
				} else {
					rest = append(rest, i)
				}
			}
			group = rest
		}
	}
	return edges, nil
}

// folded reads the folded text of a story.
func (c *chooser) folded(i int) ([]byte, error) {
	s, err := c.read(i)
	if err != nil {
		return nil, err
	}
	c.w.fold(s.Text)
	if len(c.w.hashes) == 0 {
		return []byte(s.Text), nil
	}
	return bytes.Clone(c.w.bytes()), nil
}

func (c *chooser) read(i int) (schemas.Story, error) {
	if err := c.ctx.Err(); err != nil {
		return schemas.Story{}, err
	}
	s, err := c.fetch(c.sigs[i].ID)
	if err != nil {
		return s, fmt.Errorf("dedup: reading %s back: %w", c.sigs[i].ID, err)
	}
	return s, nil
}

// near finds candidates by shared bands and excerpt marks and measures them.
func (c *chooser) near() ([]edge, error) {
	type bucket struct {
		band int
		key  uint32
	}
	buckets := map[bucket][]int{}
	for i, s := range c.sigs {
		if len(s.Keys) == 0 {
			continue
		}
		for b, k := range s.Keys {
			buckets[bucket{min(b, c.set.Bands), k}] = append(buckets[bucket{min(b, c.set.Bands), k}], i)
		}
	}
	bands := map[[2]int]int{}
	for b, members := range buckets {
		for i, x := range members {
			for _, y := range members[i+1:] {
				if b.band < c.set.Bands {
					bands[[2]int{x, y}]++
				} else {
					bands[[2]int{x, y}] += 0
				}
			}
		}
	}
	pairs := make([][2]int, 0, len(bands))
	for p := range bands {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var edges []edge
	for _, p := range pairs {
		if c.sigs[p[0]].Hash == c.sigs[p[1]].Hash {
			continue
		}
		a, err := c.shingles(p[0])
		if err != nil {
			return nil, err
		}
		b, err := c.shingles(p[1])
		if err != nil {
			return nil, err
		}
		o := measure(a.set, b.set)
		if kind := o.kind(a, b, c.set); kind != "" {
			edges = append(edges, edge{a: p[0], b: p[1], kind: kind, overlap: o, shared: bands[p]})
		}
	}
	return edges, nil
}

func (c *chooser) shingles(i int) (*shingled, error) {
	if s := c.cache[i]; s != nil {
		return s, nil
	}
	s, err := c.read(i)
	if err != nil {
		return nil, err
	}
	sh := c.w.shingle(s.Text, c.set.Shingle)
	c.cache[i] = sh
	return sh, nil
}

// decide lets every story stay that is no duplicate of one that stays.
func (c *chooser) decide(edges []edge) (*Decisions, error) {
	by := make([][]edge, len(c.sigs))
	for _, e := range edges {
		by[e.b] = append(by[e.b], e)
	}
	kept := make([]bool, len(c.sigs))
	d := &Decisions{kept: map[string]bool{}}
	size := map[int]int{}
	var of []int
	for i, s := range c.sigs {
		slices.SortFunc(by[i], func(x, y edge) int { return cmp.Or(cmp.Compare(y.jaccard, x.jaccard), cmp.Compare(x.a, y.a)) })
		at := slices.IndexFunc(by[i], func(e edge) bool { return kept[e.a] })
		if at < 0 {
			kept[i] = true
			d.kept[s.ID] = true
			continue
		}
		e := by[i][at]
		size[e.a]++
		of = append(of, e.a)
		d.Duplicates = append(d.Duplicates, schemas.Duplicate{
			StoryID: s.ID, KeptID: c.sigs[e.a].ID, Kind: e.kind,
			Jaccard: round4(e.jaccard), Containment: round4(e.containment), SharedBands: e.shared,
		})
	}
	for i := range d.Duplicates {
		d.Duplicates[i].ClusterSize = size[of[i]] + 1
	}
	slices.SortFunc(d.Duplicates, func(a, b schemas.Duplicate) int { return strings.Compare(a.StoryID, b.StoryID) })
	for i, s := range c.sigs {
		if c.set.MaxCluster > 0 && size[i]+1 > c.set.MaxCluster {
			err := &ClusterError{KeptID: s.ID, Size: size[i] + 1, Max: c.set.MaxCluster}
			for _, dup := range d.Duplicates {
				if dup.KeptID == s.ID {
					err.Evidence = append(err.Evidence, dup)
				}
			}
			return nil, err
		}
	}
	return d, nil
}

// Apply returns s with its group_id and this step's provenance, or the record
// of its being set aside: reason exact, near, contained or excerpt, with the
// kept story and the figures as evidence. A story that Choose did not see is
// set aside as not_signed.
func (d *Decisions) Apply(s schemas.Story) (schemas.Story, *schemas.Dropped) {
	if d.kept[s.StoryID] {
		s.GroupID = s.StoryID
		s.Provenance = append(slices.Clip(s.Provenance), schemas.Provenance{Step: "dedup", Version: Version, InputHash: s.TextHash})
		return s, nil
	}
	i, ok := slices.BinarySearchFunc(d.Duplicates, s.StoryID, func(d schemas.Duplicate, id string) int { return strings.Compare(d.StoryID, id) })
	if !ok {
		return s, &schemas.Dropped{ID: s.StoryID, Stage: "dedup", Reason: NotSigned, Detail: "The story was not among those that dedup chose from."}
	}
	dup := d.Duplicates[i]
	s.GroupID = dup.KeptID
	return s, &schemas.Dropped{
		ID: s.StoryID, Stage: "dedup", Reason: dup.Kind, Detail: details[dup.Kind] + " " + dup.KeptID + ".",
		Evidence: []schemas.KeyValue{
			{Key: "kept_id", Value: dup.KeptID},
			{Key: "jaccard", Value: strconv.FormatFloat(dup.Jaccard, 'f', 4, 64)},
			{Key: "containment", Value: strconv.FormatFloat(dup.Containment, 'f', 4, 64)},
			{Key: "shared_bands", Value: strconv.Itoa(dup.SharedBands)},
			{Key: "cluster_size", Value: strconv.Itoa(dup.ClusterSize)},
		},
	}
}

var details = map[string]string{
	KindExact:     "The same words as",
	KindNear:      "Much the same text as",
	KindContained: "Most of it stands in",
	KindExcerpt:   "A passage of",
}
