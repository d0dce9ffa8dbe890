// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// Flip is a fact of a story, what would hold were it false, and every place
// that has to change with it.
type Flip struct {
	Class    string // colour, material, kin_count, ...
	Category string // character or setting
	Kind     string // schemas.FlawKinds
	Subtype  string // a ConStory subtype
	Head     string // the noun, or the name's bearer
	Old, New string // the value as the story first writes it, and its replacement

	Statement      string
	Counterfactual string

	// Changes in the order of the text. All of them make the counterfactual
	// story; those behind act 1 make the plot hole.
	Changes []Change

	group  string // category of the head, which chooses the bridge
	plural bool
	gender string   // of a name's bearer: f, m
	known  bool     // never introduced: the story speaks of it as known from the start
	forms  []string // folded words that carry the value and may not be left over
}

// Change replaces a byte range of the story.
type Change struct {
	text.Range
	New    string
	Sent   int
	Speech bool
	Long   bool // inside a speech of several paragraphs
	States bool // the sentence states the value; a change of an article or a number's ending does not

	loose bool     // names the thing without "the": behind act 1 it may be another one
	vague bool     // a question, a condition, a negation: says nothing of the value
	tied  bool     // part of a noun phrase, whose determiner and modifiers follow
	poss  bool     // his, her, the king's
	marks []string // modifiers that tell the thing from others of its kind
}

// most is the largest number of sentences that flip behind act 1 (rule 5).
const most = 5

// Evidence returns the sentences before byte act2 that state the old value of
// what flips: none that ask, suppose or deny.
func (f *Flip) Evidence(act2 int) []int {
	var out []int
	for _, c := range f.Changes {
		if c.Start < act2 && c.States && !c.vague && (len(out) == 0 || out[len(out)-1] != c.Sent) {
			out = append(out, c.Sent)
		}
	}
	return out
}

// Supports returns the sentences from byte act2 on that flip.
func (f *Flip) Supports(act2 int) []int {
	var out []int
	for _, c := range f.Changes {
		if c.Start >= act2 && (len(out) == 0 || out[len(out)-1] != c.Sent) {
			out = append(out, c.Sent)
		}
	}
	return out
}

// Fits reports whether the fact is established before byte act2 and leaned on
// behind it: the first statement in plain narration, 1 to 5 sentences that
// flip, one of them narration.
func (st *Story) Fits(f *Flip, act2 int) bool { return st.unfit(f, act2) == "" }

// unfit says why a flip makes no plot hole when act 2 starts at byte act2; "" =
// it does.
func (st *Story) unfit(f *Flip, act2 int) string {
	first := f.Changes[0]
	if first.Start >= act2 {
		return "not_before"
	}
	if first.Speech || first.vague {
		// Somebody spoke of it, or wished for it, before it was there: then the
		// narrator must have stated it since. What is promised or handed over
		// (seven years, ten pounds, my golden cup) may be stated by who speaks.
		told := 0
		for _, c := range f.Changes {
			if c.Start < act2 && c.States && !c.Speech && !c.vague {
				told++
			}
		}
		need := 1
		if !first.vague && (f.Class == "duration" || f.amount() && st.sentHas(first.Sent, handing) && !st.sentHas(first.Sent, promising) || !f.plural && (f.Class == "material" || f.Class == "colour") && st.sentHas(first.Sent, handing)) {
			need = 0
		}
		if told < need {
			return "not_told"
		}
	}
	n := len(f.Supports(act2))
	if n < 1 {
		return "no_support"
	}
	if n > most {
		return "many_supports"
	}
	narrated := false
	for _, c := range f.Changes {
		switch {
		case c.Long:
			return "long_speech"
		case c.loose && c.Start >= act2:
			return "loose"
		case st.verse[c.Sent]:
			return "verse"
		}
		if c.Start >= act2 && c.States && !c.Speech {
			narrated = true
		}
	}
	switch {
	case !narrated:
		return "only_spoken"
	case !st.linked(f, act2):
		return "not_linked"
	case !st.continuous(f, act2):
		return "not_continuous"
	}
	return ""
}

// handing are words of one who gives a thing, or knows where it is.
var handing = set("here there give gave given take bring my have has is")

// promising are words of one who has not given it yet.
var promising = set("shall will would should")

// amount reports a number or a time.
func (f *Flip) amount() bool {
	return f.Class == "count" || f.Class == "kin_count" || f.Class == "duration"
}

// linked reports whether the mentions behind act 1 are of the thing that act 1
// introduced: close behind it, or with a modifier that act 1 gave it, or after
// act 1 has spoken of it twice. A possessive that comes out of nowhere, or long
// after the last mention, may be another owner's thing.
func (st *Story) linked(f *Flip, act2 int) bool {
	if !f.Changes[0].tied {
		return true
	}
	close, far := 12, 30 // sentences
	switch {
	case f.Class == "hair_eyes": // their owner keeps them; see oneOwner
		close, far = 300, 300
	case f.Class == "colour", f.Class == "material", f.Class == "quality", f.Class == "direction":
		close = 40
	case f.Class == "place":
		close = 0
	case f.Class == "role", f.Class == "object":
		close = 6
	}
	if f.group == "kin" || f.group == "light" {
		close = 0
	}
	for i, c := range f.Changes[1:] {
		if c.poss && c.Sent-f.Changes[i].Sent > far {
			return false
		}
	}
	if f.group == "riding" {
		// Whoever rides has a horse of his own.
		n := 0
		for _, c := range f.Changes {
			if c.poss {
				n++
			}
		}
		if n > 1 {
			return false
		}
	}
	before, owned, marks := 0, false, map[string]bool{}
	last := 0
	for _, c := range f.Changes {
		if c.Start >= act2 {
			break
		}
		before++
		owned = owned || c.poss
		last = c.Sent
		for _, m := range c.marks {
			marks[m] = true
		}
	}
	gap := -1
	shared, strange, plainOnes, owners := false, false, 0, 0
	for _, c := range f.Changes {
		if c.Start < act2 {
			continue
		}
		if gap < 0 {
			gap = c.Sent - last
		}
		for _, m := range c.marks {
			shared = shared || marks[m] && m != strings.ToLower(f.Old)
			strange = strange || !marks[m]
		}
		if c.poss {
			owners++
		} else {
			plainOnes++
		}
	}
	if owners > 0 && plainOnes == 0 && !owned && gap > close {
		return false
	}
	if f.known && (before < 2 && gap > 4 || before < 3 && gap > 8) {
		return false
	}
	if before < 2 && strange {
		return false // the potato field of somebody else
	}
	return before >= 2 || shared || gap <= close
}

// Apply makes the changes from byte from on.
func (st *Story) Apply(f *Flip, from int) string {
	var b strings.Builder
	at := 0
	for _, c := range f.Changes {
		if c.Start < from {
			continue
		}
		b.WriteString(st.Text[at:c.Start])
		b.WriteString(c.New)
		at = c.End
	}
	b.WriteString(st.Text[at:])
	return b.String()
}

// draw returns a number below n that depends on the story's key and parts.
func (st *Story) draw(n int, parts ...string) int {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(st.Key), st.Key)
	for _, p := range parts {
		fmt.Fprintf(h, "|%d:%s", len(p), p)
	}
	return int(binary.BigEndian.Uint64(h.Sum(nil)) % uint64(n))
}

// shuffled returns the values in an order that depends on the story's key.
func (st *Story) shuffled(values []string, parts ...string) []string {
	out := slices.Clone(values)
	slices.SortStableFunc(out, func(a, b string) int {
		return st.draw(1<<30, append(parts, a)...) - st.draw(1<<30, append(parts, b)...)
	})
	return out
}

// matchCase gives w the capitals of the word it replaces.
func matchCase(old, w string) string {
	if old != "" && strings.ToUpper(old) == old && strings.ToLower(old) != old && utf8.RuneCountInString(old) > 1 {
		return strings.ToUpper(w)
	}
	r, _ := utf8.DecodeRuneInString(old)
	if unicode.IsUpper(r) {
		return upperFirst(w)
	}
	return w
}

func upperFirst(w string) string {
	r, n := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[n:]
}

// vowel reports whether "an" stands before w.
func vowel(w string) bool {
	w = strings.ToLower(w)
	switch {
	case w == "":
		return false
	case strings.HasPrefix(w, "uni"), strings.HasPrefix(w, "eu"), strings.HasPrefix(w, "one"):
		return false
	case strings.HasPrefix(w, "hour"), strings.HasPrefix(w, "honest"), strings.HasPrefix(w, "heir"):
		return true
	}
	return strings.ContainsRune("aeiou", rune(w[0]))
}

func article(w string) string {
	if vowel(w) {
		return "an " + w
	}
	return "a " + w
}

// change replaces token t by w, keeping case and a possessive ending.
func (st *Story) change(t int, w string) Change {
	tok := st.toks[t]
	old := st.Text[tok.start:tok.end]
	c := Change{Range: text.Range{Start: tok.start, End: tok.end}, New: matchCase(old, w), Sent: tok.sent, Speech: tok.speech, Long: tok.long, States: true, vague: !st.stated(t, phrase{head: t, det: "the", dtok: -1, num: -1})}
	// "A red cap" may have to become "an orange cap": the article changes with
	// the word behind it. Behind act 1 no mention has one (rule 6).
	if t > 0 && st.toks[t-1].sent == tok.sent && tok.sep == "" && vowel(tok.w) != vowel(w) {
		if a := st.toks[t-1]; a.w == "a" || a.w == "an" {
			article := "a"
			if vowel(w) {
				article = "an"
			}
			c.Start = a.start
			c.New = matchCase(st.Text[a.start:a.start+1], article) + st.Text[a.end:tok.start] + c.New
		}
	}
	return c
}

// Marked returns a part of the story with the flip's changes made, each changed
// sentence between <m> and </m>.
func (st *Story) Marked(f *Flip, part text.Range) string {
	var b strings.Builder
	at := part.Start
	open := -1
	closeMark := func() {
		if open >= 0 {
			end := st.Sents[open].End
			b.WriteString(st.Text[at:end])
			b.WriteString("</m>")
			at = end
			open = -1
		}
	}
	for _, c := range f.Changes {
		if c.Start < part.Start || c.Start >= part.End {
			continue
		}
		if c.Sent != open {
			closeMark()
			start := st.Sents[c.Sent].Start
			b.WriteString(st.Text[at:start])
			b.WriteString("<m>")
			at, open = start, c.Sent
		}
		b.WriteString(st.Text[at:c.Start])
		b.WriteString(c.New)
		at = c.End
	}
	closeMark()
	b.WriteString(st.Text[at:part.End])
	return b.String()
}

// changeNoun is change for a token of a noun phrase.
func (st *Story) changeNoun(t int, p phrase, w string) Change {
	c := st.change(t, w)
	c.vague = !st.stated(t, p)
	c.tied, c.poss = true, p.det == "poss"
	for _, m := range p.mods {
		switch x := st.toks[m].w; x {
		case "old", "little", "great", "big", "good", "poor", "young", "very", "own", "whole", "large", "small":
		default:
			c.marks = append(c.marks, x)
		}
	}
	return c
}
