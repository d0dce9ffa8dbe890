// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Dimension cuts rows into parts that are scored apart.
type Dimension struct {
	Name string
	Doc  string
	// Of names a row's part; rows for which it is empty are left out.
	Of func(*Item) string
	// Order of the parts; names not in it follow, sorted.
	Order []string
}

// Slice is one part of a [Dimension].
type Slice struct {
	Value  string
	Tally  Tally
	Scores []Score
}

// MarshalJSON writes the part's name, confusion table and scores.
func (s Slice) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value     string    `json:"value"`
		Confusion Confusion `json:"confusion"`
		Scores    []Score   `json:"scores"`
	}{s.Value, s.Tally.Confusion(), s.Scores})
}

// By scores each part of a dimension. Accuracy over parts that hold positives
// only is their recall.
func (s Suite) By(vs []Verdict, d Dimension) []Slice {
	parts := map[string][]Verdict{}
	for _, v := range vs {
		if name := d.Of(v.Item); name != "" {
			parts[name] = append(parts[name], v)
		}
	}
	out := make([]Slice, 0, len(parts))
	for name, part := range parts {
		t := Count(part)
		out = append(out, Slice{Value: name, Tally: t, Scores: s.Of(t)})
	}
	rank := func(v string) int {
		if i := slices.Index(d.Order, v); i >= 0 {
			return i
		}
		return len(d.Order)
	}
	slices.SortFunc(out, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(rank(a.Value), rank(b.Value)), cmp.Compare(a.Value, b.Value))
	})
	return out
}

// bands names a number by the bands it falls into: "under 400", "400-799",
// ..., "3000 and over".
type bands struct {
	edges []int
	unit  string
}

func (b bands) of(n int) string {
	for i, e := range b.edges {
		if n < e {
			return b.name(i)
		}
	}
	return b.name(len(b.edges))
}

func (b bands) name(i int) string {
	switch {
	case i == 0:
		return fmt.Sprintf("under %d%s", b.edges[0], b.unit)
	case i == len(b.edges):
		return fmt.Sprintf("%d%s and over", b.edges[i-1], b.unit)
	case b.edges[i]-b.edges[i-1] == 1:
		return fmt.Sprintf("%d%s", b.edges[i-1], b.unit)
	}
	return fmt.Sprintf("%d-%d%s", b.edges[i-1], b.edges[i]-1, b.unit)
}

func (b bands) names() []string {
	out := make([]string, len(b.edges)+1)
	for i := range out {
		out[i] = b.name(i)
	}
	return out
}

// Bands are fixed, not quantiles, so that figures of two releases compare. 1,200
// words is the paper's border between its two splits.
var (
	lengthBands   = bands{[]int{400, 800, 1200, 2000, 3000}, " words"}
	distanceBands = bands{[]int{100, 250, 500, 1000}, " words"}
	supportBands  = bands{[]int{2, 3, 5}, ""}
	siteBands     = bands{[]int{2, 3, 4}, ""}
)

func onDifficulty(f func(*Item) string) func(*Item) string {
	return func(it *Item) string {
		if !it.Error || it.Difficulty == nil {
			return ""
		}
		return f(it)
	}
}

func onPositives(f func(*Item) string) func(*Item) string {
	return func(it *Item) string {
		if !it.Error {
			return ""
		}
		return f(it)
	}
}

// Dimensions are all of them, in the order of a report. Those of flaw and
// difficulty hold positive rows only.
var Dimensions = []Dimension{
	{Name: "length", Doc: "words of the story", Of: func(it *Item) string { return lengthBands.of(it.Words) }, Order: lengthBands.names()},
	{Name: "kind", Doc: "kind of flaw (table A1 of the paper)", Of: onPositives(func(it *Item) string { return it.Kind })},
	{Name: "severity", Doc: "is the flaw harmless or unbridgeable (table A1 of the paper)", Of: onPositives(func(it *Item) string { return it.Severity })},
	{Name: "subtype", Doc: "ConStory subtype of the flaw", Of: onPositives(func(it *Item) string { return it.Subtype })},
	{Name: "class", Doc: "rule class of the flaw", Of: onPositives(func(it *Item) string { return it.Class })},
	{Name: "distance", Doc: "words between the contradicted and the error sentence",
		Of: onDifficulty(func(it *Item) string { return distanceBands.of(it.Difficulty.Words) }), Order: distanceBands.names()},
	{Name: "supports", Doc: "sentences that repeat the fact after act 1",
		Of: onDifficulty(func(it *Item) string { return supportBands.of(it.Difficulty.Supports) }), Order: supportBands.names()},
	{Name: "sites", Doc: "runs of changed sentences",
		Of: onDifficulty(func(it *Item) string { return siteBands.of(it.Difficulty.Sites) }), Order: siteBands.names()},
	{Name: "explicit", Doc: "is the fact stated, or inferred?", Of: onDifficulty(func(it *Item) string {
		if it.Difficulty.Explicit {
			return "explicit"
		}
		return "inferred"
	})},
	{Name: "voice", Doc: "who says the first error sentence", Of: onDifficulty(func(it *Item) string { return it.Difficulty.Voice })},
	{Name: "importance", Doc: "importance of the fact, 1 to 4", Of: onPositives(func(it *Item) string {
		if it.Importance == 0 {
			return ""
		}
		return fmt.Sprint(it.Importance)
	})},
	{Name: "negative", Doc: "kind of negative (figure A4)", Of: func(it *Item) string {
		if it.Error {
			return ""
		}
		return it.NegativeKind
	}},
	{Name: "verification", Doc: "who verified the row", Of: func(it *Item) string { return it.Verification }},
	{Name: "corpus", Doc: "where the source story comes from", Of: func(it *Item) string { return it.Corpus }},
}

// DimensionNamed returns the dimension called name.
func DimensionNamed(name string) (Dimension, bool) {
	for _, d := range Dimensions {
		if d.Name == name {
			return d, true
		}
	}
	return Dimension{}, false
}
