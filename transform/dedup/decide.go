// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Reasons of [Decisions.Apply] beside the kinds of duplicates.
const (
	SeenBefore = "seen_before" // an earlier release or a corpus that was compared has it
	NotSigned  = "not_signed"  // Apply met a story that Choose did not see
)

// Decisions says what becomes of every story that Choose saw.
type Decisions struct {
	// Duplicates is the evidence: a line for each story that does not stay,
	// and in mark mode for each that stays but was seen before (its Against
	// is set); sorted by story_id. A cluster is a kept story with all that
	// are set aside for it.
	Duplicates []schemas.Duplicate

	// Overlap is the proof against each of Settings.Compare.
	Overlap []schemas.Overlap

	// Boilerplate counts pairs over a threshold that were cleared because
	// what they share is boilerplate.
	Boilerplate int

	mark bool
	kept []string                    // ids, sorted
	seen map[string][]schemas.SeenIn // by id of kept stories
}

// ClusterError stops a run in which one story has more duplicates than
// DedupRecipe.MaxCluster allows: a sign of broken input (a placeholder text, a
// licence page in every record), not of a popular tale.
type ClusterError struct {
	KeptID   string
	Size     int // stories, the kept one among them
	Max      int
	Evidence []schemas.Duplicate // of every other story in it, sorted by story_id
}

func (e *ClusterError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dedup: %d stories are duplicates of %s; with it that is more than max_cluster %d:", e.Size-1, e.KeptID, e.Max)
	for i, d := range e.Evidence {
		if i == 5 {
			fmt.Fprintf(&b, " and %d more,", len(e.Evidence)-i)
			break
		}
		fmt.Fprintf(&b, " %s (%s, Jaccard %.4f, containment %.4f),", d.StoryID, d.Kind, d.Jaccard, d.Containment)
	}
	return strings.TrimSuffix(b.String(), ",") + "; look at the texts, then mend the corpus or raise dedup.max_cluster"
}

// decide lets every story stay that is no duplicate of one that stays (and no
// part of one, see partOf). copies join stories of equal words to the first of
// them, edges join those first ones; both may join ours to others'.
func (c *chooser) decide(copies, edges []edge) (*Decisions, error) {
	class := make([]int32, c.ours) // the first story of the same words
	for r := range class {
		class[r] = int32(r)
	}
	between := make([]edge, 0, len(edges)) // classes
	seen := map[int32][]edge{}             // to others' stories
	for _, e := range copies {
		if e.b < int32(c.ours) {
			class[e.b] = e.a
		} else {
			seen[e.a] = append(seen[e.a], e)
		}
	}
	for _, e := range edges {
		if e.b < int32(c.ours) {
			between = append(between, e)
		} else {
			seen[e.a] = append(seen[e.a], e)
		}
	}
	near := newGraph(c.ours, between)

	d := &Decisions{mark: c.set.Mark, seen: map[string][]schemas.SeenIn{}}
	for _, a := range c.set.Compare {
		d.Overlap = append(d.Overlap, schemas.Overlap{Against: a.Name, SHA256: a.SHA256, Proof: schemas.ProofSource, Compared: c.ours})
	}
	stays := slices.Repeat([]int32{-1}, c.ours) // the story of a class that stays
	like := map[int32]int32{}                   // of a class that does not: the story that stays, where it is near
	keeps := make([]bool, c.ours)               // by signature
	texts := c.newReader(1)
	for _, v := range c.sequence(near, class) {
		r := int32(uint32(v))
		matches := c.matches(r, seen[class[r]])
		if len(matches) > 0 && !c.set.Mark {
			d.Duplicates = append(d.Duplicates, matches[0].Duplicate)
			for at := range c.set.Compare {
				if slices.ContainsFunc(matches, func(m match) bool { return m.at == at }) {
					d.Overlap[at].Removed++
				}
			}
			continue
		}
		dup, kept := c.duplicateOf(r, class[r], near, stays)
		if kept >= 0 && dup.Kind == KindNear {
			like[class[r]] = kept
		}
		if kept < 0 {
			var err error
			if dup, kept, err = c.partOf(texts, r, class[r], near, like); err != nil {
				return nil, err
			}
		}
		if kept >= 0 {
			d.Duplicates = append(d.Duplicates, dup)
			continue
		}
		stays[class[r]] = r
		keeps[c.order[r]] = true
		for at := range c.set.Compare {
			of := slices.DeleteFunc(slices.Clone(matches), func(m match) bool { return m.at != at })
			if len(of) == 0 {
				continue
			}
			if of[0].Kind != KindSource {
				d.Overlap[at].NearText++
			}
			if c.set.Compare[at].has(c.id(r)) {
				d.Overlap[at].SharedSource++
			}
		}
		for _, m := range matches {
			id := c.id(r)
			d.seen[id] = append(d.seen[id], schemas.SeenIn{
				Where: m.Against, ID: m.KeptID, Kind: m.Kind, Jaccard: m.Jaccard, Containment: m.Containment,
			})
		}
		if len(matches) > 0 {
			d.Duplicates = append(d.Duplicates, matches[0].Duplicate)
		}
	}
	for i := range d.Overlap {
		d.Overlap[i].Holds = d.Overlap[i].NearText == 0 && d.Overlap[i].SharedSource == 0
	}
	d.kept = make([]string, 0, c.ours-len(d.Duplicates))
	for sig, kept := range keeps { // as the stories came, which is often in order
		if kept {
			d.kept = append(d.kept, c.index.id(int32(sig)))
		}
	}
	slices.Sort(d.kept)
	if err := d.finish(c.set.MaxCluster); err != nil {
		return nil, err
	}
	return d, nil
}

// graph holds edges by both ends.
type graph struct {
	edges []edge
	first []int32 // place in of of the first edge of each story; one more at the end
	of    []int32 // places in edges
}

func newGraph(stories int, edges []edge) *graph {
	g := &graph{edges, make([]int32, stories+2), make([]int32, 2*len(edges))}
	for _, e := range edges {
		g.first[e.a+2]++
		g.first[e.b+2]++
	}
	for r := range stories {
		g.first[r+2] += g.first[r+1]
	}
	for i, e := range edges {
		for _, r := range []int32{e.a, e.b} {
			g.of[g.first[r+1]] = int32(i)
			g.first[r+1]++
		}
	}
	return g
}

// at yields the edges of a story, in order.
func (g *graph) at(r int32) iter.Seq[edge] {
	return func(yield func(edge) bool) {
		for _, i := range g.of[g.first[r]:g.first[r+1]] {
			if !yield(g.edges[i]) {
				return
			}
		}
	}
}

// sequence is the order in which stories are let stay: earlier releases' first,
// then by how many stories deep they lie in longer ones, then by rank. The rank
// is the lower half of each value.
func (c *chooser) sequence(near *graph, class []int32) []uint64 {
	depths := make([]int32, c.ours) // and one more; 0 = not known yet
	var depth func(r int32) int32
	depth = func(r int32) int32 {
		if depths[r] == 0 {
			// The outer text has the larger set, so there are no circles; of
			// equal sets the one of lower rank is the outer one.
			d := int32(0)
			for e := range near.at(r) {
				if e.inner == r {
					d = max(d, 1+depth(e.a+e.b-r))
				}
			}
			depths[r] = d + 1
		}
		return depths[r] - 1
	}
	all := make([]uint64, c.ours)
	for r := range all {
		late := uint64(0)
		if r >= c.early {
			late = 1 << 31
		}
		all[r] = (late|uint64(depth(class[r])))<<32 | uint64(r)
	}
	radixSort(all, make([]uint64, len(all)))
	return all
}

// duplicateOf returns the story that stays of which r is a duplicate, with the
// evidence; its rank is -1 when there is none.
func (c *chooser) duplicateOf(r, class int32, near *graph, stays []int32) (schemas.Duplicate, int32) {
	if k := stays[class]; k >= 0 {
		return c.evidence(r, k, edge{kind: KindExact, overlap: overlap{1, 1}, bands: c.bandsOf(r)}), k
	}
	var best edge
	kept := int32(-1)
	for e := range near.at(class) {
		k := stays[e.a+e.b-class]
		if k < 0 || kept >= 0 && cmp.Or(strength(e, best), cmp.Compare(kept, k)) <= 0 {
			continue
		}
		best, kept = e, k
	}
	if kept < 0 {
		return schemas.Duplicate{}, -1
	}
	return c.evidence(r, kept, best), kept
}

// partOf goes one step further for parts of stories, and for nothing else: a
// passage of an edition that did not stay is a passage of the tale, though the
// edition that stays words it a little otherwise. It must have half of the
// containment that a direct duplicate needs. The figures are those of the
// passage in the story that stays.
func (c *chooser) partOf(texts *reader, r, class int32, near *graph, like map[int32]int32) (schemas.Duplicate, int32, error) {
	var best edge
	kept := int32(-1)
	for e := range near.at(class) {
		k, ok := like[e.a+e.b-class]
		if !ok || e.inner != class {
			continue
		}
		part, err := texts.set(r)
		if err != nil {
			return schemas.Duplicate{}, -1, err
		}
		whole, err := texts.set(k)
		if err != nil {
			return schemas.Duplicate{}, -1, err
		}
		e.overlap = measure(part, whole)
		if e.containment < c.set.Containment/2 || kept >= 0 && cmp.Or(strength(e, best), cmp.Compare(kept, k)) <= 0 {
			continue
		}
		best, kept = e, k
	}
	if kept < 0 {
		return schemas.Duplicate{}, -1, nil
	}
	var err error
	if best.bands, err = c.sharedBands(r, kept); err != nil {
		return schemas.Duplicate{}, -1, err
	}
	return c.evidence(r, kept, best), kept, nil
}

// sharedBands counts the bands that two stories share, from their texts: their
// keys may be on disk.
func (c *chooser) sharedBands(a, b int32) (int, error) {
	var keys [2][]uint32
	set := c.set
	set.Index = IndexBands
	for i, r := range []int32{a, b} {
		s, err := c.read(r)
		if err != nil {
			return 0, err
		}
		keys[i] = Sign(s, set).Keys
	}
	n := 0
	for i := range min(set.Bands, len(keys[0]), len(keys[1])) {
		if keys[0][i] == keys[1][i] {
			n++
		}
	}
	return n, nil
}

// strength compares evidence: exact before near before the rest, then by the
// figures. It is over 0 where a is the stronger.
func strength(a, b edge) int {
	grade := func(e edge) int {
		switch e.kind {
		case KindExact:
			return 3
		case KindNear:
			return 2
		case KindSource:
			return 0
		}
		return 1
	}
	return cmp.Or(grade(a)-grade(b), cmp.Compare(a.jaccard, b.jaccard), cmp.Compare(a.containment, b.containment))
}

func (c *chooser) evidence(r, kept int32, e edge) schemas.Duplicate {
	return schemas.Duplicate{
		StoryID: c.id(r), KeptID: c.id(kept), Kind: e.kind,
		Jaccard: round4(e.jaccard), Containment: round4(e.containment), SharedBands: e.bands,
	}
}

// bandsOf is the number of bands that a copy of r shares with it.
func (c *chooser) bandsOf(r int32) int {
	if s := c.sig(r); s.query || int(s.words) < c.set.whole() {
		return 0
	}
	return c.set.Bands
}

// match is a place where an earlier release or corpus has a story.
type match struct {
	schemas.Duplicate
	at   int // in Settings.Compare
	edge edge
}

// matches lists where r was seen before, the strongest first.
func (c *chooser) matches(r int32, edges []edge) []match {
	var all []match
	for _, e := range edges {
		at, n := 0, int(e.b)-c.ours
		for n >= c.set.Compare[at].sigs.n {
			n -= c.set.Compare[at].sigs.n
			at++
		}
		if e.kind == KindExact {
			e.bands = c.bandsOf(r)
		}
		all = append(all, match{c.evidence(r, e.b, e), at, e})
	}
	for at, a := range c.set.Compare {
		if id := c.id(r); a.has(id) && !slices.ContainsFunc(all, func(m match) bool { return m.at == at }) {
			e := edge{kind: KindSource}
			all = append(all, match{c.evidence(r, r, e), at, e})
		}
	}
	for i := range all {
		all[i].Against = c.set.Compare[all[i].at].Name
	}
	slices.SortFunc(all, func(x, y match) int {
		return cmp.Or(strength(y.edge, x.edge), x.at-y.at, strings.Compare(x.KeptID, y.KeptID))
	})
	return all
}

// finish counts clusters, sorts the evidence and refuses giants.
func (d *Decisions) finish(most int) error {
	type cluster struct{ against, kept string }
	size := map[cluster]int{}
	of := func(d schemas.Duplicate) cluster { return cluster{d.Against, d.KeptID} }
	for _, dup := range d.Duplicates {
		size[of(dup)]++
	}
	for i := range d.Duplicates {
		d.Duplicates[i].ClusterSize = size[of(d.Duplicates[i])] + 1
	}
	slices.SortFunc(d.Duplicates, func(a, b schemas.Duplicate) int { return strings.Compare(a.StoryID, b.StoryID) })
	if most == 0 {
		return nil
	}
	var giant *ClusterError
	for _, dup := range d.Duplicates {
		if dup.Against != "" || dup.ClusterSize <= most {
			continue
		}
		if giant == nil || dup.ClusterSize > giant.Size || dup.ClusterSize == giant.Size && dup.KeptID < giant.KeptID {
			giant = &ClusterError{KeptID: dup.KeptID, Size: dup.ClusterSize, Max: most}
		}
	}
	if giant == nil {
		return nil
	}
	for _, dup := range d.Duplicates {
		if dup.KeptID == giant.KeptID && dup.Against == "" {
			giant.Evidence = append(giant.Evidence, dup)
		}
	}
	return giant
}

// Kept returns the ids of the stories that stay, sorted. It is what the next
// release's Settings.Earlier is made of.
func (d *Decisions) Kept() []string { return slices.Clone(d.kept) }

// Apply returns s with its group_id and this step's provenance, or the record
// of its being set aside: reason exact, near, contained or excerpt with the
// kept story and the figures as evidence; seen_before where an earlier release
// or corpus has it; not_signed for a story that Choose did not see.
func (d *Decisions) Apply(s schemas.Story) (schemas.Story, *schemas.Dropped) {
	if _, ok := slices.BinarySearch(d.kept, s.StoryID); ok {
		s.GroupID = s.StoryID
		s.Seen = append(slices.Clip(s.Seen), d.seen[s.StoryID]...)
		s.Provenance = append(slices.Clip(s.Provenance), schemas.Provenance{Step: "dedup", Version: Version, InputHash: s.TextHash})
		return s, nil
	}
	i, ok := slices.BinarySearchFunc(d.Duplicates, s.StoryID, func(d schemas.Duplicate, id string) int { return strings.Compare(d.StoryID, id) })
	if !ok {
		return s, &schemas.Dropped{ID: s.StoryID, Stage: "dedup", Reason: NotSigned, Detail: "The story was not among those that dedup chose from."}
	}
	dup := d.Duplicates[i]
	s.GroupID = dup.KeptID
	drop := &schemas.Dropped{
		ID: s.StoryID, Stage: "dedup", Reason: dup.Kind, Detail: details[dup.Kind] + " " + dup.KeptID + ".",
		Evidence: []schemas.KeyValue{
			{Key: "kept_id", Value: dup.KeptID},
			{Key: "jaccard", Value: strconv.FormatFloat(dup.Jaccard, 'f', 4, 64)},
			{Key: "containment", Value: strconv.FormatFloat(dup.Containment, 'f', 4, 64)},
			{Key: "shared_bands", Value: strconv.Itoa(dup.SharedBands)},
			{Key: "cluster_size", Value: strconv.Itoa(dup.ClusterSize)},
		},
	}
	if dup.Against != "" {
		drop.Reason = SeenBefore
		drop.Detail = details[dup.Kind] + " " + dup.KeptID + " of " + dup.Against + "."
		drop.Evidence = append(drop.Evidence, schemas.KeyValue{Key: "against", Value: dup.Against}, schemas.KeyValue{Key: "kind", Value: dup.Kind})
	}
	return s, drop
}

var details = map[string]string{
	KindExact:     "The same words as",
	KindNear:      "Much the same text as",
	KindContained: "Most of the shorter text stands in the longer one, in passages that lie apart:",
	KindExcerpt:   "Most of the shorter text is one passage of the longer one:",
	KindSource:    "The same source as",
}
