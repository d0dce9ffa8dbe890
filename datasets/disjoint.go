// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// A text is near one of an earlier release from this share of its sampled
// shingles on. Two editions of a tale share nearly all, two tales that open
// alike a few in a hundred.
const (
	nearShingle = 8 // words
	nearSample  = 8 // one shingle in so many, by its hash
	nearShare   = 0.20
	nearLeast   = 3 // shingles
)

// ErrCanary says that two releases have one canary.
var ErrCanary = errors.New("every release needs a canary of its own")

// LogicalDigest is the digest of all rows of a release: SHA-256 over a line
// "config/split digest" a split, in the manifest's order.
func LogicalDigest(m schemas.Manifest) string {
	h := sha256.New()
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			fmt.Fprintf(h, "%s/%s %s\n", c.Name, s.Name, s.Digest)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// known is what an earlier release holds, as hashes.
type known struct {
	groups, texts, matches, flaws, hidden map[string]bool
	shingles                              map[uint64]bool
}

func knownOf(ctx context.Context, r *Release) (*known, error) {
	k := &known{groups: map[string]bool{}, texts: map[string]bool{}, matches: map[string]bool{}, flaws: map[string]bool{},
		hidden: map[string]bool{}, shingles: map[uint64]bool{}}
	for _, c := range r.Manifest.Hidden {
		k.hidden[c.ExampleID] = true
	}
	for _, c := range r.Manifest.Configs {
		if c.Schema != "example" {
			continue
		}
		for _, s := range c.Splits {
			for e, err := range Rows[schemas.Example](r, c.Name, s.Name) {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return nil, err
				}
				k.groups[e.GroupID] = true
				k.texts[e.TextHash] = true
				if e.MatchID != e.GroupID {
					k.matches[e.MatchID] = true
				}
				if f := flawOf(e); f != "" {
					k.flaws[f] = true
				}
				eachShingle(e.Story, func(h uint64) { k.shingles[h] = true })
			}
		}
	}
	return k, nil
}

// flawOf names a plot hole by its gold sentences, so that it is known again
// under another id.
func flawOf(e schemas.Example) string {
	if e.Label != schemas.LabelError {
		return ""
	}
	h := sha256.New()
	for _, side := range [][]schemas.Span{e.ErrorSpans, e.ContradictedSpans} {
		for _, s := range side {
			fmt.Fprintf(h, "%d:%s", len(s.Text), s.Text)
		}
		h.Write([]byte{'|'})
	}
	return string(h.Sum(nil))
}

// eachShingle gives the sampled hashes of a text's runs of nearShingle words.
// Case, punctuation and typography do not count.
func eachShingle(story string, see func(uint64)) {
	var words []string
	for r := range text.WordRanges(story) {
		w := strings.Map(func(r rune) rune {
			if strings.ContainsRune(`.,;:!?"'()[]-*_`, r) {
				return -1
			}
			return r
		}, text.Fold(story[r.Start:r.End]))
		if w != "" {
			words = append(words, w)
		}
	}
	for i := 0; i+nearShingle <= len(words); i++ {
		if h := xxh3.HashString(strings.Join(words[i:i+nearShingle], " ")); h%nearSample == 0 {
			see(h)
		}
	}
}

// Disjoint compares tables, hidden ones included, with an earlier release and
// returns both proofs: what is shared, and whether nothing is.
func Disjoint(ctx context.Context, tables []Table, canary string, earlier *Release) ([]schemas.Overlap, error) {
	if strings.EqualFold(canary, earlier.Manifest.Canary) {
		return nil, fmt.Errorf("%s has the same canary: %w", earlier.ID(), ErrCanary)
	}
	k, err := knownOf(ctx, earlier)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", earlier.ID(), err)
	}
	c := newComparison(k)
	for _, t := range tables {
		for v, err := range t.rows {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			if e, ok := v.Interface().(schemas.Example); ok {
				c.add(e)
			}
		}
	}
	return c.overlaps(earlier), nil
}

type comparison struct {
	*known
	compared      map[string]bool // groups
	source, near  map[string]bool // groups
	sharedMatches map[string]bool
}

func newComparison(k *known) *comparison {
	return &comparison{known: k, compared: map[string]bool{}, source: map[string]bool{}, near: map[string]bool{}, sharedMatches: map[string]bool{}}
}

func (c *comparison) add(e schemas.Example) {
	c.compared[e.GroupID] = true
	if c.groups[e.GroupID] || c.texts[e.TextHash] || c.hidden[e.ExampleID] {
		c.source[e.GroupID] = true
	}
	if e.MatchID != e.GroupID && (c.matches[e.MatchID] || c.hidden[e.ExampleID]) || c.flaws[flawOf(e)] {
		c.sharedMatches[e.MatchID] = true
	}
	if c.source[e.GroupID] || c.near[e.GroupID] {
		return
	}
	all, hit := 0, 0
	eachShingle(e.Story, func(h uint64) {
		all++
		if c.shingles[h] {
			hit++
		}
	})
	if hit >= nearLeast && float64(hit) >= nearShare*float64(all) {
		c.near[e.GroupID] = true
	}
}

func (c *comparison) overlaps(earlier *Release) []schemas.Overlap {
	for g := range c.source { // found by a later row than the one that looked near
		delete(c.near, g)
	}
	o := schemas.Overlap{Against: earlier.ID(), SHA256: LogicalDigest(earlier.Manifest), Compared: len(c.compared),
		SharedSource: len(c.source), SharedFlaw: len(c.sharedMatches), NearText: len(c.near)}
	source, flaw := o, o
	source.Proof, source.Holds = schemas.ProofSource, o.SharedSource == 0 && o.NearText == 0
	flaw.Proof, flaw.Holds = schemas.ProofFlaw, o.SharedFlaw == 0
	return []schemas.Overlap{source, flaw}
}

// against computes the proofs about one earlier release again, from the rows
// that are published.
func (v *verifier) against(ctx context.Context, dir string) error {
	earlier, err := Open(dir)
	if err != nil {
		return err
	}
	if strings.EqualFold(v.Manifest.Canary, earlier.Manifest.Canary) {
		v.problem(ManifestFile, "the canary is that of %s: %v", earlier.ID(), ErrCanary)
	}
	k, err := knownOf(ctx, earlier)
	if err != nil {
		return fmt.Errorf("%s: %w", earlier.ID(), err)
	}
	c := newComparison(k)
	for _, conf := range v.Manifest.Configs {
		for _, s := range conf.Splits {
			if conf.Schema != "example" {
				continue
			}
			for e, err := range Rows[schemas.Example](v.Release, conf.Name, s.Name) {
				if err != nil {
					break // said already
				}
				c.add(e)
			}
		}
	}
	for _, got := range c.overlaps(earlier) {
		found := false
		for _, said := range v.Manifest.Overlap {
			if said.Against != got.Against || said.Proof != got.Proof {
				continue
			}
			found = true
			got.Removed = said.Removed
			switch {
			case said.SHA256 != got.SHA256:
				v.problem(ManifestFile, "%s against %s: it was compared with rows of digest %s, those there have %s", said.Proof, said.Against, said.SHA256, got.SHA256)
			case len(v.Manifest.Hidden) == 0 && said != got,
				said.Holds && !got.Holds, said.SharedSource < got.SharedSource, said.SharedFlaw < got.SharedFlaw:
				v.problem(ManifestFile, "%s against %s: the manifest says %s, counted are %s", said.Proof, said.Against, overlapText(said), overlapText(got))
			}
		}
		if !found {
			v.rep.note("the manifest has no proof %s against %s; counted now: %s", got.Proof, got.Against, overlapText(got))
		}
	}
	return nil
}

func overlapText(o schemas.Overlap) string {
	verdict := "it does not hold"
	if o.Holds {
		verdict = "it holds"
	}
	return fmt.Sprintf("%d sources compared, %d shared, %d near in text, %d plot holes shared: %s", o.Compared, o.SharedSource, o.NearText, o.SharedFlaw, verdict)
}
