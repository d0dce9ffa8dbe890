// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/internal/text"
)

// figure is somebody or some place that a story names again and again.
type figure struct {
	name  string // as a sentence would name it: Lumis, the miller
	at    text.Range
	count int
}

// roles are nouns for those whom tales are about.
var roles = set(`king queen prince princess emperor empress sultan miller fisherman woodcutter tailor shoemaker smith blacksmith soldier sailor captain merchant
	farmer peasant shepherd hunter huntsman widow widower stepmother giant giantess dwarf witch wizard magician sorcerer fairy elf troll ogre dragon genie ghost
	goblin wolf fox bear lion tiger cat dog horse hare rabbit mouse rat crow raven eagle sparrow frog toad snake serpent bird fish monkey ape crane donkey ass
	goat cock hen goose swan swineherd gardener cook servant maid nurse priest monk hermit bishop doctor lawyer judge thief robber beggar minstrel fiddler
	musician painter scholar student teacher knight lord lady duke count baron squire minister general mandarin rajah brahmin barber potter weaver spinner
	stranger detective officer astronaut robot alien demon devil angel grandmother grandfather bride bridegroom warden pilot assassin hero villain`)

// placeNouns are nouns for where tales happen.
var placeNouns = set(`forest castle palace village island mountain river harbour sea shore garden cottage tower city town farm mill ship school hospital
	prison desert valley cave lake meadow kingdom inn market temple church bridge moor marsh station hotel lighthouse orchard`)

func hasRole(t string) bool {
	for _, w := range wordsOf(t) {
		if roles[w] || roles[strings.TrimSuffix(w, "'s")] {
			return true
		}
	}
	return false
}

var (
	notNames = set(`the a an i he she it they we you his her its their our your my this that these those there here then now when while where what who why how
		if but and or so yet for nor as at by in on of to from with without after before once one two three four five six seven eight nine ten
		no not yes oh ah o alas well come go let do did is was were are be has had have will shall would could should may might must can cannot
		mr mrs miss ms dr sir st madam lord lady king queen god heaven lord's monday tuesday wednesday thursday friday saturday sunday
		january february march april may june july august september october november december christmas easter
		chapter part book english french german spanish chinese american indian i'm i've i'll i'd it's that's don't didn't
		christian christians christianity heathen pagan jew jewish master mistress majesty highness sire sir lord fairy devil
		father mother brother sister son daughter uncle aunt grandmother grandfather
		just some all every each another such many most more much only even still never always perhaps maybe soon later next
		everyone everything nothing something someone nobody please thank thanks hello hey okay ok good great dear first last
		let's he's she's they're we're you're what's who's there's isn't wasn't can't won't couldn't wouldn't`)
	capitalised = regexp.MustCompile(`\b[A-Z][a-z'’]+(?:[- ][A-Z][a-z'’]+)*\b`)
)

// people finds who the story is about, most often named first: names, and
// figures such as "the miller". Chinese names cannot be told from other words
// by their form; there it finds nobody.
func (r *reading) people() (out []figure) {
	if r.zh {
		return nil
	}
	limit := r.text
	if len(limit) > 200_000 {
		limit = limit[:200_000]
		for !text1(limit) {
			limit = limit[:len(limit)-1]
		}
	}
	found := map[string]*figure{}
	add := func(name string, at text.Range) {
		if f := found[name]; f != nil {
			f.count++
			return
		}
		found[name] = &figure{name, at, 1}
	}
	// A word that also occurs in small letters is no name.
	small := map[string]bool{}
	for _, w := range strings.FieldsFunc(limit, func(c rune) bool { return !unicode.IsLetter(c) && c != '\'' && c != '’' }) {
		if unicode.IsLower(firstLetter(w)) {
			small[w] = true
		}
	}
	for _, loc := range capitalised.FindAllStringIndex(limit, -1) {
		name := strings.TrimRight(limit[loc[0]:loc[1]], "'’")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
		start := loc[0]
		words := strings.Fields(name)
		for len(words) > 0 && (notNames[strings.ToLower(words[0])] || sentenceStart(limit, start) && small[strings.ToLower(words[0])]) {
			start += len(words[0]) + 1
			words = words[1:]
		}
		if len(words) == 0 || len(words) > 3 {
			continue
		}
		name = strings.Join(words, " ")
		low := strings.ToLower(words[len(words)-1])
		if small[low] || notNames[low] || roles[low] || placeNouns[low] || len([]rune(name)) < 3 || strings.ContainsAny(name, "'’") {
			continue
		}
		if !strings.HasPrefix(limit[min(start, len(limit)):], name) {
			continue
		}
		if before := strings.TrimRight(limit[:start], " "); placed(before) {
			continue // in Skalunda: a place
		}
		add(name, text.Range{Start: start, End: start + len(name)})
	}
	for _, loc := range theNoun.FindAllStringSubmatchIndex(limit, -1) {
		noun := limit[loc[4]:loc[5]]
		if !roles[noun] {
			continue
		}
		add("the "+noun, text.Range{Start: loc[0], End: loc[1]})
	}
	for _, f := range found {
		if f.count >= 3 {
			out = append(out, *f)
		}
	}
	slices.SortFunc(out, func(a, b figure) int { return cmp.Or(b.count-a.count, strings.Compare(a.name, b.name)) })
	out = slices.DeleteFunc(out, func(f figure) bool { // Ann beside Ann Other
		return slices.ContainsFunc(out, func(g figure) bool { return g.name != f.name && strings.Contains(" "+g.name+" ", " "+f.name+" ") })
	})
	return out
}

// theNoun: the old miller. Group 1 is an adjective that may stand between.
var theNoun = regexp.MustCompile(`\b[Tt]he (?:(old|young|poor|little|rich|great|good|wicked|eldest|youngest) )?([a-z]+)\b`)

// text1 reports whether s ends at a character's end.
func text1(s string) bool {
	return len(s) == 0 || s[len(s)-1] < 0x80
}

// sentenceStart reports whether a sentence may start at byte at.
func sentenceStart(s string, at int) bool {
	b := strings.TrimRight(s[:at], " \n\"'“‘(")
	return b == "" || strings.ContainsRune(".!?:;—-", rune(b[len(b)-1])) || len(b) < at && strings.Contains(s[len(b):at], "\n")
}

// placed reports that a preposition of place stands before a name.
func placed(before string) bool {
	i := strings.LastIndexAny(before, " \n")
	switch strings.ToLower(before[i+1:]) {
	case "in", "at", "near", "of", "from", "into", "to", "called", "through", "across":
		return true
	}
	return false
}

// place finds where the story plays, if one kind of place recurs.
func (r *reading) place() (figure, bool) {
	if r.zh {
		return figure{}, false
	}
	limit := r.text[:min(len(r.text), 200_000)]
	found := map[string]*figure{}
	for _, loc := range theNoun.FindAllStringSubmatchIndex(limit, -1) {
		noun := limit[loc[4]:loc[5]]
		if !placeNouns[noun] {
			continue
		}
		if f := found[noun]; f != nil {
			f.count++
		} else {
			found[noun] = &figure{"the " + noun, text.Range{Start: loc[0], End: loc[1]}, 1}
		}
	}
	var best *figure
	for _, f := range found {
		if f.count >= 2 && (best == nil || f.count > best.count || f.count == best.count && f.name < best.name) {
			best = f
		}
	}
	if best == nil {
		return figure{}, false
	}
	return *best, true
}
