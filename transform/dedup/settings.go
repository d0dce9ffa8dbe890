// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"math"
	"slices"

	"github.com/retcon-bench/retcon/schemas"
)

// Version of the step: it changes whenever the same stories may be decided
// otherwise.
const Version = "2"

// Settings are those of a recipe with what the recipe cannot say. Zero values
// of Shingle, Jaccard, Containment, Bands and Rows stand for the defaults of
// [schemas.DefaultRecipe]; MaxCluster 0 is no limit.
type Settings struct {
	schemas.DedupRecipe

	// Corpora are the names of the corpora in order of preference: of two
	// equal stories that of the earlier corpus stays, but that a text which a
	// release may carry goes before one that it may not.
	Corpora []string

	// Earlier holds the story_id of every story that a named earlier release
	// kept. Of two equal stories that one stays, so that group ids and rows
	// do not move from release to release.
	Earlier map[string]bool

	// Compare holds the earlier releases and corpora whose stories are set
	// aside here as seen_before or, with DedupRecipe.Mark, marked in
	// Story.Seen.
	Compare []*Against

	// Memory bounds, in bytes, what Choose holds beside ids and fixed-size
	// records (about 100 bytes a story): beyond it sorted keys and pairs go
	// to temporary files. 0 holds everything in memory. The decisions do not
	// depend on it.
	Memory int64
	// TempDir is where those files go; empty is the system's place.
	TempDir string

	// Workers verify candidates at the same time, each calling fetch; 0 is
	// one. The decisions do not depend on it.
	Workers int
}

func (s Settings) withDefaults() Settings {
	def := schemas.DefaultRecipe().Dedup
	for _, f := range []struct{ set, def *int }{{&s.Shingle, &def.Shingle}, {&s.Bands, &def.Bands}, {&s.Rows, &def.Rows}} {
		if *f.set <= 0 {
			*f.set = *f.def
		}
	}
	for _, f := range []struct{ set, def *float64 }{{&s.Jaccard, &def.Jaccard}, {&s.Containment, &def.Containment}} {
		if *f.set <= 0 {
			*f.set = *f.def
		}
	}
	return s
}

// Check refuses settings that no run can use. It looks at them before the
// defaults are filled in.
func (s Settings) Check() error {
	switch {
	case s.Shingle < 0 || s.Shingle > 64:
		return fmt.Errorf("dedup: shingle is %d words; it must be 1 to 64", s.Shingle)
	case s.Bands < 0 || s.Rows < 0 || s.Bands*s.Rows > 1<<12:
		return fmt.Errorf("dedup: %d bands of %d rows; both must be at least 1, their product at most %d", s.Bands, s.Rows, 1<<12)
	case !(s.Jaccard >= 0 && s.Jaccard <= 1):
		return fmt.Errorf("dedup: jaccard is %v; it must be over 0 and at most 1", s.Jaccard)
	case !(s.Containment >= 0 && s.Containment <= 1):
		return fmt.Errorf("dedup: containment is %v; it must be over 0 and at most 1", s.Containment)
	case s.Index != "" && s.Index != IndexBands && s.Index != IndexMinhashLSH:
		return fmt.Errorf("dedup: no index is called %q; choose %s or %s", s.Index, IndexBands, IndexMinhashLSH)
	case s.Index == IndexMinhashLSH && s.Memory > 0:
		return fmt.Errorf("dedup: index %s keeps all signatures in memory; it takes no memory limit", IndexMinhashLSH)
	case s.Boilerplate < 0 || s.Boilerplate == 1:
		return fmt.Errorf("dedup: boilerplate is %d stories; it must be 0 (off) or at least 2", s.Boilerplate)
	case s.MaxCluster < 0:
		return fmt.Errorf("dedup: max_cluster is %d; it must be 0 (no limit) or more", s.MaxCluster)
	}
	return nil
}

// keys is the number of keys of a signature before the excerpt marks.
func (s Settings) keys() int {
	if s.Index == IndexMinhashLSH {
		return lshValues(s)
	}
	return s.Bands
}

// whole is the number of words under which a text is compared whole.
func (s Settings) whole() int { return max(s.Shingle, WholeWords) }

// rank is the place of a source in the order of preference: texts that a
// release may carry before those that their terms keep back, so that the copy
// that stays can be published.
func (s Settings) rank(source schemas.Source) uint16 {
	i := slices.Index(s.Corpora, source.Corpus)
	if i < 0 {
		i = len(s.Corpora)
	}
	if !source.MayReleaseText() {
		i += len(s.Corpora) + 1
	}
	return uint16(min(i, math.MaxUint16))
}
