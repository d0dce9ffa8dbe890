// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// madeUp returns n signatures over several blocks of records and of keys, whose
// keys are often shared; some have none.
func madeUp(r *rand.Rand, corpus string, n int, set Settings) []Signature {
	sigs := make([]Signature, n)
	key := func() uint32 { return uint32(r.IntN(3*n)) * 2654435761 } // all over the range
	for i := range sigs {
		sigs[i] = Signature{
			ID: fmt.Sprintf("%s:%d", corpus, i*i), Words: int32(r.IntN(3)), Litter: int32(r.IntN(2) * r.IntN(70_000)),
			Corpus: uint16(r.IntN(2)), Hash: [2]uint64{r.Uint64(), r.Uint64()},
		}
		if i%7 == 0 {
			continue
		}
		for range set.Bands {
			sigs[i].Keys = append(sigs[i].Keys, key())
		}
		var marks []uint32
		for range r.IntN(10) {
			marks = append(marks, key())
		}
		slices.Sort(marks)
		sigs[i].Keys = append(sigs[i].Keys, slices.Compact(marks)...)
	}
	r.Shuffle(n, func(i, j int) { sigs[i], sigs[j] = sigs[j], sigs[i] })
	return sigs
}

// TestGroups: whatever is held in memory, every key that two signatures have is
// found with all of them, those of an earlier release among them.
func TestGroups(t *testing.T) {
	for _, memory := range []int64{0, 1 << 15, 1 << 18} {
		t.Run(fmt.Sprint(memory, " bytes"), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(memory)))
			set := defaults()
			set.Bands, set.Memory, set.TempDir = 3, memory, t.TempDir()
			ours, theirs := madeUp(r, "a", 3500, set), madeUp(r, "b", 1500, set)
			earlier := &Against{Name: "v1"}
			for _, s := range theirs {
				if err := earlier.sigs.add(s, set.keys(), keyRows); err != nil {
					t.Fatal(err)
				}
			}
			set.Compare = []*Against{earlier}
			x := NewIndex(set)
			defer x.Close()
			for _, s := range ours {
				if err := x.Add(s); err != nil {
					t.Fatal(err)
				}
				if memory > 0 && x.held > memory/4*9/8 { // room for marks is made ahead
					t.Fatalf("%d bytes of keys are held, much more than a fourth of %d", x.held, memory)
				}
			}
			if _, err := newChooser(context.Background(), x, nil); err != nil {
				t.Fatal(err)
			}
			if spilled := x.columns != nil; spilled != (memory > 0) {
				t.Fatalf("keys on disk: %v", spilled)
			}
			check := func(col int) {
				want := map[uint32][]string{}
				for _, s := range slices.Concat(ours, theirs) {
					for i, k := range s.Keys {
						if min(i, set.Bands) == col {
							want[k] = append(want[k], s.ID)
						}
					}
				}
				maps.DeleteFunc(want, func(_ uint32, ids []string) bool { return len(ids) < 2 })
				last := int64(-1)
				for group, err := range x.groups(context.Background(), col) {
					if err != nil {
						t.Fatal(err)
					}
					key := uint32(group[0] >> 32)
					var got []string
					for _, v := range group {
						got = append(got, x.id(int32(uint32(v))))
					}
					if int64(key) <= last || !slices.Equal(got, want[key]) {
						t.Fatalf("column %d, key %d behind %d: %v, want %v", col, key, last, got, want[key])
					}
					last = int64(key)
					delete(want, key)
				}
				if len(want) > 0 {
					t.Errorf("column %d: %d shared keys were not found", col, len(want))
				}
			}
			for col := range set.Bands + 1 {
				check(col)
			}
			x.dropBands()
			check(set.Bands)
		})
	}
}

// TestPrefer: the order of preference is that of comparing field by field.
func TestPrefer(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	set := defaults()
	sigs := madeUp(r, "a", 2500, set)
	set.Earlier = map[string]bool{}
	for _, s := range sigs[:100] {
		set.Earlier[s.ID] = true
	}
	x := NewIndex(set)
	for _, s := range sigs {
		if err := x.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	c, err := newChooser(context.Background(), x, nil)
	if err != nil {
		t.Fatal(err)
	}
	late := func(s Signature) int {
		if set.Earlier[s.ID] {
			return 0
		}
		return 1
	}
	slices.SortFunc(sigs, func(a, b Signature) int {
		return cmp.Or(late(a)-late(b), cmp.Compare(a.Corpus, b.Corpus), cmp.Compare(b.Words, a.Words),
			cmp.Compare(a.Litter, b.Litter), cmp.Compare(a.ID, b.ID))
	})
	for r, s := range sigs {
		if got := c.id(int32(r)); got != s.ID || c.sig(int32(r)).hash != s.Hash || c.rank[c.order[r]] != int32(r) {
			t.Fatalf("rank %d is %s, want %s", r, got, s.ID)
		}
	}
	if c.early != 100 {
		t.Errorf("%d stories of an earlier release, want 100", c.early)
	}
}

// TestMemoryOfASignature: an index takes at most 300 bytes a story with a short
// id and seven marks at the default bands, and says what its keys take.
func TestMemoryOfASignature(t *testing.T) {
	const n = 20_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	x := NewIndex(defaults())
	for i := range n {
		if err := x.Add(Signature{ID: fmt.Sprintf("gen:%07d", i), Keys: make([]uint32, 42+7)}); err != nil {
			t.Fatal(err)
		}
	}
	took := heap() - before
	if took > 300*n {
		t.Errorf("%d bytes a story", took/n)
	}
	rest := int64(len(x.blocks)) * (blockSize * (40 + 11 + 4)) // records and ids
	if d := took - rest - x.held; d < -took/50 || d > took/50 {
		t.Errorf("%d bytes are taken, %d are accounted for", took, rest+x.held)
	}
	runtime.KeepAlive(x)
}
