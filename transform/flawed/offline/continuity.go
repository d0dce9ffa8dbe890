// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// A flip is a plot hole only if the new value cannot be another individual's:
// a second fox may come by later, another tree may stand by another road. The
// rules of this file ask that the thing of act 1 and that of the first flip be
// the same beyond doubt.

// Sentences that may lie between the last mention that stays and the first that
// flips.
const (
	sameScene = 40 // nothing went by in between
	closeBy   = 6  // servants, of whom a house has one of each kind
	tight     = 12 // beings and things of which any scene may hold a second one
)

// beings are the categories of heads.tsv and the groups of nouns.tsv whose
// members come and go by themselves.
var beings = set("person folk mount cattle pet wild bird scaled house yard herd riding song hawk cold fish insect beast wood small")

// strays are what stands or lies about in more than one place.
var strays = set("tree flower fruit plant land water vehicle boat feather pebble egg")

// continuous reports that the first mention behind act 1 must mean what the
// last one before it meant.
func (st *Story) continuous(f *Flip, act2 int) bool {
	last, now, before := -1, -1, 0
	for i, c := range f.Changes {
		if c.Start < act2 {
			last = i
			before++
		} else if now < 0 {
			now = i
		}
	}
	if last < 0 || now < 0 {
		return false
	}
	a, b := f.Changes[last], f.Changes[now]
	gap, n := b.Sent-a.Sent, len(f.Supports(act2))
	for _, c := range f.Changes[:last+1] {
		if c.vague && !slices.Contains(f.Evidence(act2), c.Sent) {
			return false // who reads it asks whether it belongs to what is contradicted
		}
	}
	switch f.Class {
	case "species", "role", "object", "place", "name":
	case "colour", "material", "quality", "direction":
		if worn[f.group] && !slices.ContainsFunc(f.Changes[:last+1], func(c Change) bool { return !c.Speech }) {
			return false // whoever is told to put on the green gown may put on another
		}
		if worn[f.group] && before == 1 && gap > closeBy {
			return false // who came in a grey cloak may have put on another
		}
		if worn[f.group] && st.changesClothes(a.Sent, b.Sent) {
			return false // they tore off the white dress; she put on the green one
		}
		if !beings[f.group] && !strays[f.group] {
			// A garment or a door stays its owner's, unless time goes by and
			// nobody says whose it is.
			return before >= 2 || a.poss && b.poss || !st.timeBetween(a.Sent, b.Sent)
		}
	case "duration":
		return !st.newTerm(f) && !st.severalTimes(f, b)
	case "count", "kin_count":
		return gap <= sameScene/2 // else nobody remembers how many there were
	default:
		return true // features have rules of their own
	}
	skip := st.timeBetween(a.Sent, b.Sent)
	switch {
	case gap > sameScene:
		return false
	case f.group == "kin":
		return false // whoever has a stepmother may have an aunt
	case f.group == "inn":
		return false // a palace has a steward beside its coachman
	case f.Class == "object" && st.scattered(f):
		return false // every troll has a sword on his wall
	case f.Class == "name":
		if st.first[b.Sent+1]-st.first[b.Sent] < 5 && !b.Speech {
			return false // "And Edith, too!" may be anybody
		}
		if st.onScene(f, act2) < 2 && !st.agent(st.tokenAt(b.Start)) {
			return false // who is spoken of, and has not come, may be another one
		}
		if gap > tight && before < 4 {
			return false // one who was hardly there
		}
		if gap > closeBy && n == 1 {
			return false // one mention may be of somebody else
		}
		if gap > closeBy && before < 4 && st.sibling(f) {
			return false // she may be her sister, whom nobody has named
		}
		if slices.ContainsFunc(f.Changes[:last+1], func(c Change) bool {
			return b.Sent-c.Sent <= tight && st.sentHas(c.Sent, crowdWords)
		}) {
			return false // one of many
		}
		return !st.introduces(f, st.tokenAt(b.Start)) && (before >= 3 || before >= 2 && !skip)
	case skip && (before < 3 || gap > tight || strays[f.group] || f.Class == "object"):
		return false // only one who has been there all the time is still there
	case b.Speech:
		return false // who speaks may mean another one
	}
	for _, c := range f.Changes[now:] {
		if st.listed(st.tokenAt(c.End - 1)) {
			return false
		}
	}
	if f.Class == "object" && (gap > 2 || b.poss && gap > 1) && !sharesMark(f.Changes[:last+1], b) {
		return false // whoever has a staff may have a lantern too
	}
	if f.Class == "species" && (f.known && before < 3 || b.Sent-f.lastTold(act2) > f.reach()) {
		return false // where beasts come unannounced, so may another
	}
	if f.Class == "species" && before == 1 && st.presented(st.tokenAt(b.End-1)) {
		return false // the squirrel which had been given to him is one more gift
	}
	if f.Class == "species" && before == 1 && st.governed(st.tokenAt(b.End-1)) {
		return false // the bird complained to the cat
	}
	if f.Class == "role" {
		for i := max(a.Sent-3, 0); i <= b.Sent; i++ {
			if st.sentHas(i, fellows) {
				return false // his friend may be the merchant
			}
		}
	}
	if beings[f.group] || f.Class == "species" || f.Class == "role" {
		for i := a.Sent; i <= b.Sent; i++ {
			if st.sentHas(i, deathWords) {
				return false
			}
		}
	}
	switch {
	case n == 1 && f.Class == "object":
		return false // the sack may have fallen into a basket
	case n == 1 && f.Class == "species" && st.company(f, act2):
		return false // the bear may be one more of the beasts
	case n == 1 && f.Class == "role" && gap > 2:
		return false // a priest may sit there beside the lawyer
	}
	if before == 1 && n == 1 && (f.Class == "species" || f.Class == "role" || f.Class == "object") {
		// One mention here and one there: a second one could be meant, unless
		// they stand side by side.
		if f.Class == "object" || gap > 1 && !(gap <= 2 && st.speaks(st.tokenAt(b.Start))) {
			return false
		}
	}
	if f.Class == "species" && beings[f.group] && st.crowd(f, act2) {
		return false
	}
	switch t := st.tokenAt(b.Start); {
	case f.Class == "place" && (len(f.Supports(act2)) == 1 || !st.resumes(t) && !st.shares(f, a, b)):
		return false // a hut may stand by the cave
	case f.Class == "role" && st.hadBeen(t):
		return false // the master weaver had been there before
	case f.Class == "role" && before == 1 && !st.speaks(t) && !st.shares(f, a, b):
		return false // another man may come by
	}
	limit := tight
	if b.poss && a.poss || f.Class == "place" || before >= 3 {
		limit = sameScene / 2
	}
	return gap <= limit && !st.again(a.Sent, b.Sent)
}

// newTerm reports a story that sets a term again once it is over, or again and
// again (not to come till the five years were out): the next one may be as long
// as it likes.
func (st *Story) newTerm(f *Flip) bool {
	over, set, last := false, 0, -1
	for _, c := range f.Changes {
		if c.Sent == last {
			continue
		}
		last = c.Sent
		until := st.sentHas(c.Sent, untilWords)
		if until {
			set++
		}
		if set > 2 || over && (until || c.Speech && st.sentHas(c.Sent, setting)) {
			return true
		}
		over = over || !c.Speech && !until && st.sentHas(c.Sent, ended)
	}
	return false
}

var (
	ended      = set("out over up passed gone past ended end elapsed expired")
	untilWords = set("till until")
	setting    = set("shall will must can may cannot")
)

// lastTold returns the last sentence before byte act2 in which the narrator, and
// not only a speaker, mentions the thing; -1 when there is none.
func (f *Flip) lastTold(act2 int) int {
	at := -1
	for _, c := range f.Changes {
		if c.Start < act2 && !c.Speech {
			at = c.Sent
		}
	}
	return at
}

// reach is how many sentences a beast is out of sight before another could have
// come: fewer where beasts come unannounced.
func (f *Flip) reach() int {
	if f.known {
		return 4
	}
	return tight
}

// sharesMark reports a mention with a modifier that an earlier one has: the horn
// spoon.
func sharesMark(before []Change, b Change) bool {
	return slices.ContainsFunc(before, func(a Change) bool {
		return slices.ContainsFunc(a.marks, func(m string) bool { return slices.Contains(b.marks, m) })
	})
}

// fellows are people of whom a story may tell later what they are.
var fellows = set("friend friends companion companions comrade comrades fellow-traveller stranger strangers passer-by")

// governed reports that the noun at token t stands behind a preposition.
func (st *Story) governed(t int) bool {
	p := st.phrase(t)
	return p.dtok > 0 && st.toks[p.dtok].sep == "" && st.toks[p.dtok-1].sent == st.toks[t].sent && governing[st.toks[p.dtok-1].w]
}

var governing = set("to with from by at upon on of for against behind before after into unto")

// crowdWords say that more people are there than the story names.
var crowdWords = set("others many rest several company")

// worn are what people change.
var worn = set("garment cloth footwear")

// changesClothes reports that something is taken off in sentence a and put on
// in sentence b.
func (st *Story) changesClothes(a, b int) bool {
	return st.sentHas(a, offWords) && st.sentHas(b, onWords)
}

var (
	offWords = set("off")
	onWords  = set("put dressed donned")
)

// onScene counts the mentions of a name before byte act2 in which the narrator
// has its bearer there: not in what is said, asked or meant for him.
func (st *Story) onScene(f *Flip, act2 int) int {
	n := 0
	for _, c := range f.Changes {
		if c.Start >= act2 || c.Speech || c.vague {
			continue
		}
		t := st.tokenAt(c.Start)
		from, _ := st.clause(t)
		reported := false
		for k := from; k < t; k++ {
			w := st.toks[k].w
			reported = reported || w == "whether" || w == "if" || w == "that" && (k == from || st.toks[k-1].w != "so")
		}
		if !reported {
			n++
		}
	}
	return n
}

// sibling reports a name that is brought in as that of one of several brothers
// or sisters, another of whom goes without a name.
func (st *Story) sibling(f *Flip) bool {
	same := set("son sons brother brothers")
	if f.gender == "f" {
		same = set("daughter daughters sister sisters")
	}
	first := f.Changes[0].Sent
	if !st.sentHas(first, same) && !st.sentHas(max(first-1, 0), same) {
		return false
	}
	for k := 0; k+1 < len(st.toks); k++ {
		if birthOrder[st.toks[k].w] && same[st.toks[k+1].w] && (k+2 >= len(st.toks) || !st.toks[k+2].upper) {
			return true
		}
	}
	return false
}

var birthOrder = set("elder older eldest oldest second other younger")

// agent reports that the name at token t speaks or acts there: replied Martin,
// Martin took.
func (st *Story) agent(t int) bool {
	if t > 0 && st.toks[t-1].sent == st.toks[t].sent && st.toks[t].sep == "" && speaking[st.toks[t-1].w] {
		return true
	}
	if n := t + 1; n < len(st.toks) && st.toks[n].sent == st.toks[t].sent && st.toks[n].sep == "" {
		return speaking[st.toks[n].w] || strings.HasSuffix(st.toks[n].w, "ed")
	}
	return false
}

// introduces reports a name, at token t, that may be somebody new: one of a
// list, the son of somebody, "a man called", with a family name.
func (st *Story) introduces(f *Flip, t int) bool {
	if st.listed(t) {
		return true
	}
	sent := st.toks[t].sent
	if t > 0 && st.toks[t-1].sent == sent && (calling[st.toks[t-1].w] || st.toks[t-1].w == "with") {
		return true
	}
	if n := t + 1; n < len(st.toks) && st.toks[n].sent == sent {
		switch x := st.toks[n]; {
		case x.sep == "" && x.upper && x.w != "i" && !functionWords[x.w]:
			return true // Matthew Fane
		case x.sep == "," && (x.w == "son" || x.w == "daughter" || x.w == "brother" || x.w == "sister" || x.w == "a" || x.w == "an"):
			return true
		}
	}
	return false
}

// speaks reports that the noun at token t says something: said the fox.
func (st *Story) speaks(t int) bool {
	p := st.phrase(t)
	k := p.dtok - 1
	if k >= 0 && st.toks[k].sent == st.toks[t].sent && speaking[st.toks[k].w] && st.toks[p.dtok].sep == "" {
		return true
	}
	return t+1 < len(st.toks) && st.toks[t+1].sent == st.toks[t].sent && (st.toks[t+1].w == "said" || st.toks[t+1].w == "answered" || st.toks[t+1].w == "replied" || st.toks[t+1].w == "cried" || st.toks[t+1].w == "asked")
}

// resumes reports a mention, at token t, that takes a place up again: this
// tower, back to the hut, left the cave.
func (st *Story) resumes(t int) bool {
	p := st.phrase(t)
	if p.det == "dem" {
		return true
	}
	from, _ := st.clause(t)
	for k := max(from, t-8); k < t; k++ {
		if resuming[st.toks[k].w] {
			return true
		}
	}
	return false
}

var resuming = set("back again return returned returning left leave leaving still remained stayed same")

// severalTimes reports a sentence that tells more than one time: the forty years,
// the thirty and the twenty, of which each is another's.
func (st *Story) severalTimes(f *Flip, c Change) bool {
	unit := f.Head[strings.LastIndexByte(f.Head, ' ')+1:]
	for k := st.first[c.Sent]; k+1 < st.first[c.Sent+1]; k++ {
		t := st.toks[k]
		if numberWords[t.w] == 0 || t.w == strings.ToLower(f.Old) || t.start >= c.Start && t.start < c.End {
			continue
		}
		if st.toks[k+1].w == unit || k > 0 && st.toks[k-1].w == "the" {
			return true
		}
	}
	return false
}

// presented reports a being, at token t, that the sentence brings in anew: which
// had been given to him.
func (st *Story) presented(t int) bool {
	k := t + 1
	for k < len(st.toks) && k <= t+2 && !relatives[st.toks[k].w] {
		k++
	}
	return k+3 < len(st.toks) && relatives[st.toks[k].w] && st.toks[k+1].w == "had" && st.toks[k+2].w == "been" && gifts[st.toks[k+3].w]
}

var (
	relatives = set("which that who")
	gifts     = set("given sent brought bought presented")
)

// hadBeen reports a noun, at token t, of whom the story tells what was before.
func (st *Story) hadBeen(t int) bool {
	return st.nextIs(t, "had")
}

// shares reports that the sentences of two changes speak of the same third
// thing, besides what flips: the lightning around the temple.
func (st *Story) shares(f *Flip, a, b Change) bool {
	named := map[string]bool{}
	for _, i := range []int{a.Sent, b.Sent} {
		for k := st.first[i] + 1; k < st.first[i+1]; k++ {
			d, t := st.toks[k-1].w, st.toks[k]
			if t.sep != "" || len(t.w) < 4 || t.w == fold(f.Old) || lexicon().words["modifier"][t.w] || !(d == "the" || d == "a" || d == "an" || lexicon().words["determiner"][d]) {
				continue
			}
			if i == b.Sent && named[t.w] {
				return true
			}
			named[t.w] = named[t.w] || i == a.Sent
		}
	}
	return a.Sent == b.Sent
}

// crowd reports a first flip among several other beasts: and after that the
// wolf, the bear, the stag.
func (st *Story) crowd(f *Flip, act2 int) bool {
	return len(st.otherBeasts(f, f.Supports(act2)[0])) >= 3
}

// company reports a beast that act 1 names among others: a snail, an otter and a
// wolf.
func (st *Story) company(f *Flip, act2 int) bool {
	return slices.ContainsFunc(f.Evidence(act2), func(i int) bool {
		others := st.otherBeasts(f, i)
		slices.Sort(others)
		return len(slices.Compact(others)) >= 2
	})
}

// otherBeasts lists the beasts of sentence i, a mention each, but the one that
// flips.
func (st *Story) otherBeasts(f *Flip, i int) []string {
	var out []string
	for _, t := range st.wordsIn(i) {
		if x, ok := lexicon().byNoun[strings.TrimSuffix(t.w, "'s")]; ok && x.class == "species" && x.one != f.Old {
			out = append(out, x.one)
		}
	}
	return out
}

// scattered reports a thing that the story loses sight of for long between two
// mentions.
func (st *Story) scattered(f *Flip) bool {
	for i, c := range f.Changes[1:] {
		if c.Sent-f.Changes[i].Sent > 2*tight {
			return true
		}
	}
	return false
}

// again reports that sentence b tells what sentence a told, of the next one in
// a row: up came a dog and ran off, up came a cat and ran off.
func (st *Story) again(a, b int) bool {
	if a == b {
		return false
	}
	x, y := st.wordsIn(a), st.wordsIn(b)
	same := 0
	for same < len(x) && same < len(y) && x[same].w == y[same].w {
		same++
	}
	return same >= 2 && len(x) > 4 && x[len(x)-1].w == y[len(y)-1].w
}

// timeBetween reports that time goes by, or a new part of the text starts,
// between sentences a and b.
func (st *Story) timeBetween(a, b int) bool {
	for i := a; i < b; i++ {
		if st.verse[i] && i > a || strings.Count(st.gap(i), "\n") > 2 {
			return true
		}
		if st.timeStarts(i+1) || i > a && st.spends(i) >= someTime {
			return true
		}
	}
	return st.spends(b) >= someTime
}

// gap returns what stands between sentences i and i+1.
func (st *Story) gap(i int) string { return st.Text[st.Sents[i].End:st.Sents[i+1].Start] }

// timeStarts reports a sentence that opens a later scene: "One day", "The next
// morning".
func (st *Story) timeStarts(i int) bool {
	if next := st.wordsIn(i); len(next) == 0 || next[0].speech {
		return false
	}
	switch st.pauseAt(i) {
	case overnight, someTime, longTime:
		return true
	}
	w := st.wordsIn(i)
	for k := 0; k < len(w) && k < 8; k++ {
		if later[w[k].w] && !w[k].speech {
			return true
		}
	}
	return false
}

// later are words at the head of a sentence that let time go by.
var later = set("years months weeks year month week days meanwhile winter summer spring autumn tomorrow morrow later afterwards")

// listed reports that the noun at token t is one of a list: the eagle, the hawk
// and the owl.
func (st *Story) listed(t int) bool {
	sent := st.toks[t].sent
	opens := func(k int) bool {
		if k >= len(st.toks) || st.toks[k].sent != sent || st.toks[k].sep != "" && st.toks[k].sep != "," {
			return false
		}
		w := st.toks[k].w
		return w == "a" || w == "an" || w == "the" || numberWords[w] > 0 || lexicon().words["determiner"][w] || lexicon().noun[w]
	}
	if n := t + 1; n < len(st.toks) && st.toks[n].sent == sent {
		x := st.toks[n]
		and := x.w == "and" || x.w == "or" || x.w == "nor"
		switch {
		case x.sep == "" && and && opens(n+1):
			return true
		case x.sep == "," && (opens(n) && !st.says(n) || and && opens(n+1) && st.shortList(n+1)):
			return true
		}
	}
	p := st.phrase(t)
	from := t
	if p.dtok >= 0 {
		from = p.dtok
	} else if len(p.mods) > 0 {
		from = p.mods[0]
	}
	if from == 0 || st.toks[from-1].sent != sent {
		return false
	}
	k := from - 1
	switch w := st.toks[k].w; {
	case (w == "and" || w == "or" || w == "nor") && st.toks[from].sep == "":
		k--
	case st.toks[from].sep == ",":
	default:
		return false
	}
	if k < 0 || st.toks[k].sent != sent {
		return false
	}
	w := st.toks[k].w
	return lexicon().noun[w] || lexicon().heads[w].one != "" || st.toks[k].upper && !st.toks[k].head && w != "i"
}

// says reports that a clause, not a list, goes on at token k: its noun phrase
// is followed by a verb.
func (st *Story) says(k int) bool {
	for j := k + 1; j < len(st.toks) && j <= k+4 && st.toks[j].sent == st.toks[k].sent && st.toks[j].sep == ""; j++ {
		if w := st.toks[j].w; w == "and" || w == "or" {
			return false
		}
		if lexicon().words["verb"][st.toks[j].w] || strings.HasSuffix(st.toks[j].w, "ed") {
			return true
		}
	}
	return false
}

// shortList reports that the noun phrase at token k ends its clause without a
// verb.
func (st *Story) shortList(k int) bool { return !st.says(k) }

// generic are words beside which "a boat" is no boat: he was skilled with one.
var generic = set("skill skilled skilful skillful handy able knack learn learned learnt teach taught manage craft fond accustomed usually always every often whenever any each sort kind handle handling")

// variant reports that the story also writes the noun in another way:
// mill-stone or mill stone beside millstone.
func (st *Story) variant(one string) bool {
	bare := strings.ReplaceAll(one, "-", "")
	for w := range st.at {
		x := strings.TrimSuffix(w, "'s")
		if x == one {
			continue
		}
		if y := strings.ReplaceAll(x, "-", ""); (y == bare || y == bare+"s") && (strings.Contains(x, "-") || strings.Contains(one, "-")) {
			return true
		}
	}
	if len(bare) < 6 {
		return false
	}
	for i := 1; i < len(st.toks); i++ {
		t := st.toks[i]
		if a := st.toks[i-1]; t.sent == a.sent && t.sep == "" && len(a.w) < len(bare) && strings.HasPrefix(bare, a.w) {
			if two := a.w + strings.TrimSuffix(t.w, "'s"); two == bare || two == bare+"s" {
				return true
			}
		}
	}
	return false
}

// misfits reports a preposition before a mention that does not go with every
// noun of its class: up the tower, on the barrel, across the village.
func (st *Story) misfits(n noun, p phrase) bool {
	k := p.dtok - 1
	if p.dtok <= 0 || st.toks[k].sent != st.toks[p.head].sent || st.toks[p.dtok].sep != "" {
		return false
	}
	switch w := st.toks[k].w; {
	case n.class != "place" && n.class != "object":
		return false
	case surface[w]:
		return true
	case inward[w]:
		return n.class == "object" && n.group != "hold" && n.group != "vessel"
	}
	return false
}

var (
	surface = set("on upon onto over across along up down under underneath beneath atop astride between among")
	inward  = set("in into inside within through")
)
