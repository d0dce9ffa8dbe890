// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
)

func each(items []Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func TestGrams(t *testing.T) {
	p := newProse(30)
	question := "Why — did the “Zoë’s” lamp go out at night?" // ten words
	list := []Item{{"q:1", question}, {"q:2", "Who did it?"}}
	var items []string
	for i := range 300 {
		items = append(items, p.text(40+i%60))
		list = append(list, Item{fmt.Sprintf("bench.jsonl:%d", i+1), items[i]})
	}
	g, err := ReadGrams(each(list), GramSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if n, short := g.Items(); n != 301 || short != 1 {
		t.Errorf("%d items, %d too short", n, short)
	}

	words := strings.Fields(items[7])
	passage := strings.Join(words[5:35], " ")
	for _, c := range []struct {
		name, text string
		hits       int
		over       bool
	}{
		{"another story", p.text(2000), 0, false},
		{"twelve words of an item", p.text(500) + " " + strings.Join(words[:12], " ") + " " + p.text(500), 0, false},
		{"thirteen words of an item", p.text(500) + " " + strings.Join(words[:13], " ") + " " + p.text(500), 1, false},
		{"half an item, in other dress", p.text(500) + "\n“" + strings.ToUpper(strings.ReplaceAll(passage, " ", ", ")) + "!” " + p.text(500), 1, true},
		{"a word changed inside", p.text(300) + " " + strings.Replace(passage, words[20], "zz", 1) + " " + p.text(300), 2, true},
		{"a whole short item", p.text(300) + " why did the zoes lamp go out at night " + p.text(300), 1, true},
		{"most of a short story", passage, 1, true},
		{"twice", passage + " x " + passage, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := g.Scan(story("a:1", c.text))
			if len(got.Hits) != c.hits || got.Over != c.over || (got.Dropped() != nil) != c.over {
				t.Fatalf("%+v, want %d hits, over %v", got, c.hits, c.over)
			}
			for _, h := range got.Hits {
				in, err := h.InStory.Slice(c.text)
				if err != nil {
					t.Fatal(err)
				}
				source := question
				if h.Item != "q:1" {
					source = items[7]
				}
				there, err := h.InItem.Slice(source)
				if err != nil {
					t.Fatal(err)
				}
				var a, b folded
				a.fold(in)
				b.fold(there)
				if string(a.bytes()) != string(b.bytes()) || len(a.hashes) != h.Words {
					t.Errorf("hit %+v: story %q, item %q", h, in, there)
				}
			}
		})
	}
	got := g.Scan(story("a:1", passage))
	if want := "1 passages stand in benchmark items, 100.0 % of the story and 63.8 % of bench.jsonl:8."; got.Dropped().Detail != want {
		t.Errorf("detail %q, want %q", got.Dropped().Detail, want)
	}
}

func TestGramSettings(t *testing.T) {
	for _, s := range []GramSettings{{Words: -1}, {ItemShare: 2}, {StoryShare: -1}} {
		if _, err := ReadGrams(each(nil), s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// FuzzPlaces: the words that places points at are those of fold.
func FuzzPlaces(f *testing.F) {
	for _, s := range []string{"", "The King's lamp", "½ 猫が3匹 ﷺ Zoë’s", "a\xffb", "e\u0301te\u0301 co\u00adop"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var w folded
		w.fold(s)
		at := places(s)
		if len(at) != len(w.hashes) {
			t.Fatalf("%q: %d places of %d words", s, len(at), len(w.hashes))
		}
		all := string(w.bytes())
		starts := wordStarts(w.bytes())
		for i, b := range at {
			part, err := schemas.Bounds.Slice(b, s)
			if err != nil {
				t.Fatal(err)
			}
			w.fold(part)
			if got := string(w.bytes()); !strings.Contains(got, all[starts[i]:starts[i+1]]) {
				t.Fatalf("%q: word %d is %q, its place holds %q", s, i, all[starts[i]:starts[i+1]], got)
			}
		}
	})
}
