// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Against is an earlier release or another corpus that the stories of this run
// are compared with. It holds signatures; texts are read back as Choose needs
// them.
type Against struct {
	Name   string
	SHA256 string // of what was read, for the proof

	sigs    signatures
	fetch   Fetch
	sources []string // story and group ids, sorted
}

// ReadAgainst signs the texts of an earlier release or corpus. For the rows of
// a release, StoryID is whatever names the row to fetch (an example_id) and
// GroupID the row's group_id; of texts that repeat, one is enough.
func ReadAgainst(ctx context.Context, name, sha256 string, texts iter.Seq2[schemas.Story, error], fetch Fetch, set Settings) (*Against, error) {
	set = set.withDefaults()
	a := &Against{Name: name, SHA256: sha256, fetch: fetch}
	for s, err := range texts {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("dedup: reading %s: %w", name, err)
		}
		sig := Sign(s, set)
		sig.Corpus = 0
		if err := a.sigs.add(sig, set.keys(), keyRows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		a.sources = append(a.sources, s.StoryID)
		if s.GroupID != "" && s.GroupID != s.StoryID {
			a.sources = append(a.sources, s.GroupID)
		}
	}
	slices.Sort(a.sources)
	a.sources = slices.Clip(slices.Compact(a.sources))
	return a, nil
}

// has reports whether a story or group of that id is there.
func (a *Against) has(id string) bool {
	_, ok := slices.BinarySearch(a.sources, id)
	return ok
}

// KindSource marks a story whose id an earlier release has too while the texts
// share too little for any other kind.
const KindSource = "source"
