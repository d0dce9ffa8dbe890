// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// reading is a story as the rules see it.
type reading struct {
	key   string // what choices depend on: seed and story
	s     string
	sents []text.Range
	off   *offline.Story
	words [][]string     // by sentence, folded, in order
	has   map[string]int // how often a word stands in the story
	tale  []bool         // the sentence is plain narration
}

func (in *Injector) read(s schemas.Story) *reading {
	r := &reading{key: fmt.Sprintf("%d/diagnostic/%s", in.cfg.Seed, s.GroupID), s: s.Text, sents: text.Sentences(s.Text), has: map[string]int{}}
	ix := text.NewIndex(s.Text)
	var marks []text.Range
	for _, m := range s.Marks {
		if sp, err := ix.FromRunes(m.Start, m.End); err == nil {
			marks = append(marks, text.Range{Start: sp.ByteStart, End: sp.ByteEnd})
		}
	}
	r.off = offline.Read(r.key, s.Title, s.Text, r.sents, marks)
	for _, t := range r.sents {
		ws := wordsOf(t.Of(s.Text))
		r.words = append(r.words, ws)
		for _, w := range ws {
			r.has[w]++
			for _, part := range strings.Split(w, "-") {
				if part != w {
					r.has[part]++
				}
			}
		}
	}
	for i := range r.sents {
		r.tale = append(r.tale, r.narration(i, marks))
	}
	return r
}

// wordsOf cuts a sentence into folded words: letters, digits, and what joins
// them inside.
func wordsOf(s string) []string {
	fs := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(s, "’", "'")), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '\'' && c != '-'
	})
	out := fs[:0]
	for _, f := range fs {
		if f = strings.Trim(f, "'-"); f != "" {
			out = append(out, f)
		}
	}
	return out
}

// narration reports a whole sentence of running prose that nobody speaks: no
// quotation mark in it, no speech that goes on around it, no verse, one line.
func (r *reading) narration(i int, marks []text.Range) bool {
	t := r.sents[i]
	body := t.Of(r.s)
	if strings.ContainsAny(body, "\"“”„«»‘\n*_[]|") || strings.Contains(body, " '") || strings.HasPrefix(body, "'") || strings.HasSuffix(body, "'") {
		return false
	}
	first, _ := utf8.DecodeRuneInString(body)
	if !unicode.IsUpper(first) || !strings.HasSuffix(body, ".") || strings.HasSuffix(body, "..") || len(r.words[i]) < 5 {
		return false
	}
	for _, m := range marks {
		if t.Start < m.End && m.Start < t.End {
			return false
		}
	}
	return (i == 0 || !r.off.InsideSpeech(i-1)) && (i+1 >= len(r.sents) || !r.off.InsideSpeech(i))
}

// gap is a place for a sentence behind sentence i: narration before it, and
// narration or a new paragraph behind.
func (r *reading) gap(i int) bool {
	if i < 0 || i+1 >= len(r.sents) || !r.tale[i] {
		return false
	}
	between := r.s[r.sents[i].End:r.sents[i+1].Start]
	return r.tale[i+1] || strings.Contains(between, "\n")
}

// lacks reports that none of the words stands in the story.
func (r *reading) lacks(words []string) bool {
	for _, w := range words {
		if r.has[w] > 0 {
			return false
		}
	}
	return true
}

// draw returns a number below n that depends on the story's key and parts.
func (r *reading) draw(n int, parts ...string) int {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(r.key), r.key)
	for _, p := range parts {
		fmt.Fprintf(h, "|%d:%s", len(p), p)
	}
	return int(binary.BigEndian.Uint64(h.Sum(nil)) % uint64(n))
}

// shuffled puts items in an order that depends on the story's key.
func shuffled[T any](r *reading, items []T, name func(T) string) []T {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b T) int { return r.draw(1<<30, "shuffle", name(a)) - r.draw(1<<30, "shuffle", name(b)) })
	return out
}

// figure is somebody of whom the story has one: a name, or "the king".
type figure struct {
	name string // as it stands inside a sentence
	at   []int  // sentences of narration that name it
}

// persons are nouns of people. One of them names a figure where the story has
// one such person and says "the" every time but the first.
var persons = strings.Fields(`king queen prince princess emperor empress sultan count countess baron knight minister judge mayor
	miller fisherman hunter huntsman farmer peasant woodcutter tailor shoemaker cobbler smith blacksmith soldier sailor captain merchant
	widow widower shepherd goatherd swineherd gardener baker cook innkeeper weaver spinner potter carpenter mason student schoolmaster priest
	parson monk hermit thief robber beggar nurse witch wizard magician sorcerer giant giantess dwarf ogre girl boy lad maiden stepmother
	bridegroom bride carter drover clerk fiddler piper keeper lighthouse-keeper ferryman boatman boatbuilder peddler pedlar caravaneer guide general`)

// plain words that may stand between "the" and the noun without telling one
// person of the kind from another.
var plainModifiers = map[string]bool{"old": true, "young": true, "poor": true, "good": true, "great": true, "little": true}

// words before the noun that name the same person from another's side, or call
// to them.
var addresses = map[string]bool{"my": true, "our": true, "your": true, "his": true, "her": true, "their": true, "o": true, "oh": true, "dear": true,
	"said": true, "sir": true, "lord": true, "lady": true, "mr": true}

// figures finds those of the story, most often named first.
func (r *reading) figures() []figure {
	var out []figure
	for _, p := range r.off.People() {
		f := figure{name: p.Name}
		low := strings.ToLower(p.Name)
		for i, ws := range r.words {
			if r.tale[i] && slices.Contains(ws, low) {
				f.at = append(f.at, i)
			}
		}
		out = append(out, f)
	}
	for _, f := range r.named() {
		if !slices.ContainsFunc(out, func(o figure) bool { return o.name == f.name }) {
			out = append(out, f)
		}
	}
	for _, noun := range persons {
		if f, ok := r.theOne(noun); ok {
			out = append(out, f)
		}
	}
	out = slices.DeleteFunc(out, func(f figure) bool { return len(f.at) < 2 })
	slices.SortStableFunc(out, func(a, b figure) int { return len(b.at) - len(a.at) })
	return out
}

var (
	word  = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*`)
	doing = toSet(`said asked went came took thought answered ran replied told sat got knew laughed cried looked stood gave saw began felt heard
		put made found walked turned smiled nodded whispered shook opened pulled reached`)
	whereAt  = toSet("in at from to of near into through towards toward round around outside beyond")
	noPerson = toSet(`god lord heaven christmas easter king queen prince princess emperor sultan sir madam lady master mistress mr mrs miss ms dr
		father mother sister brother uncle aunt grandfather grandmother death fortune earth sun moon english french german irish latin spanish
		american chinese japanese saint north south east west yes well doctor captain professor`)
)

// named finds names beside those of package offline, which also needs to know
// whether somebody is he or she: a word that is never written small, stands at
// least four times, twice before a verb of doing, seldom behind a preposition
// of place, and mostly without another name before it.
func (r *reading) named() []figure {
	type seen struct{ all, does, places, behind, inside int }
	names, small := map[string]*seen{}, map[string]bool{}
	var order []string
	for _, t := range r.sents {
		body := t.Of(r.s)
		at := word.FindAllStringIndex(body, -1)
		for k, m := range at {
			w := body[m[0]:m[1]]
			first, _ := utf8.DecodeRuneInString(w)
			if !unicode.IsUpper(first) {
				small[strings.ToLower(w)] = true
				continue
			}
			w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
			if utf8.RuneCountInString(w) < 3 || strings.ContainsAny(w, "'’-") || strings.ToUpper(w) == w {
				continue
			}
			n := names[w]
			if n == nil {
				n = &seen{}
				names[w], order = n, append(order, w)
			}
			n.all++
			if k+1 < len(at) && doing[body[at[k+1][0]:at[k+1][1]]] {
				n.does++
			}
			if k == 0 || strings.TrimSpace(body[at[k-1][1]:m[0]]) != "" {
				continue
			}
			n.inside++
			before := body[at[k-1][0]:at[k-1][1]]
			c, _ := utf8.DecodeRuneInString(before)
			switch {
			case whereAt[strings.ToLower(before)]:
				n.places++
			case unicode.IsUpper(c) && before != "I", before == "the", before == "a", before == "an":
				n.behind++
			}
		}
	}
	var out []figure
	for _, w := range order {
		n, low := names[w], strings.ToLower(w)
		if n.all < 4 || n.does < 2 || n.inside < 2 || n.places*4 > n.all || n.behind*4 > n.all || small[low] || noPerson[low] || r.has[low+"s"] > 0 {
			continue
		}
		f := figure{name: w}
		for i, ws := range r.words {
			if r.tale[i] && slices.Contains(ws, low) {
				f.at = append(f.at, i)
			}
		}
		out = append(out, f)
	}
	return out
}

func (r *reading) theOne(noun string) (figure, bool) {
	f := figure{name: "the " + noun}
	if strings.Count(r.s, " the "+capital(noun)) > strings.Count(r.s, " the "+noun) {
		f.name = "the " + capital(noun) // as the story writes it
	}
	if r.has[noun] < 4 || r.has[noun+"s"] > 0 || r.has[noun+"es"] > 0 || strings.HasSuffix(noun, "man") && r.has[strings.TrimSuffix(noun, "man")+"men"] > 0 {
		return f, false
	}
	indefinite := 0
	for i, ws := range r.words {
		named := false
		for k, w := range ws {
			if w != noun {
				continue
			}
			j := k - 1
			for j >= 0 && plainModifiers[ws[j]] {
				j--
			}
			switch {
			case j >= 0 && ws[j] == "the":
				named = named || j == k-1
			case j >= 0 && (ws[j] == "a" || ws[j] == "an"):
				if indefinite++; indefinite > 1 {
					return f, false
				}
			case j >= 0 && addresses[ws[j]]:
			default:
				return f, false
			}
			if k+1 < len(ws) && (ws[k+1] == "of" || strings.HasSuffix(ws[k+1], "'s")) {
				return f, false // the king of another country
			}
		}
		if named && r.tale[i] {
			f.at = append(f.at, i)
		}
	}
	return f, true
}

// capital gives a name the capital of a sentence's first word.
func capital(s string) string {
	c, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(c)) + s[n:]
}
