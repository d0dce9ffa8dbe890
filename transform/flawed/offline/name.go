// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
)

// Person is a name that somebody in a story bears.
type Person struct {
	Name   string
	Gender string // f, m
	// Sure says that the name can be nothing but a person's: a name to borrow.
	Sure bool
	// Stories is how many stories of the collection have the name.
	Stories int
	// Far says that only other collections have it.
	Far  bool
	toks []int
}

var (
	males   = set("he him his himself")
	females = set("she her hers herself")
	// notNames are capitalised words that name no person.
	notNames = set(`i god lord heaven heavens christmas easter sunday monday tuesday wednesday thursday friday saturday january february
		march april may june july august september october november december king queen prince princess emperor empress sir
		madam lady master mistress mr mrs miss dame father mother grandfather grandmother granny uncle aunt brother sister
		death fortune fate sun moon star wind north south east west english french german irish latin spanish christian
		o oh ah alas yes no well mother majesty highness excellency saint st providence nature sabbath bible church hell
		spring summer autumn winter midsummer the a an`)
	// placeWords before a name say that it is a place.
	placeWords = set("in near into through reach reached")
	// styles are titles that stand before a name and are none.
	styles   = set("little old young poor dear good uncle aunt cousin sir lord lady dame farmer squire captain doctor brother sister father mother master o oh ah but and yes no well")
	speaking = set(`said answered asked cried went came had was took saw thought looked ran began gave told replied sat got
		stood knew laughed called felt could did would put made found heard lay wept rode turned jumped walked`)
	nobiliary = set("st saint king queen de la le du des von van der den di da del mac ap ben al el o")
	calling   = set("called call calls name names named")
	naming    = set("because therefore reason meaning means meant nickname nicknamed christened surname surnamed")
)

// people finds the story's personal names with one gender.
func (st *Story) people() []Person {
	byName := map[string][]int{}
	var order []string
	for i, t := range st.toks {
		if !t.upper {
			continue
		}
		w := strings.TrimSuffix(t.w, "'s")
		if notNames[w] || utf8.RuneCountInString(w) < 3 || strings.ContainsAny(w, "-'") || functionWords[w] {
			continue
		}
		if byName[w] == nil {
			order = append(order, w)
		}
		byName[w] = append(byName[w], i)
	}
	var out []Person
	for _, w := range order {
		if p, ok := st.person(w, byName[w]); ok {
			out = append(out, p)
		}
	}
	return out
}

func (st *Story) person(w string, toks []int) (Person, bool) {
	if len(toks) < 4 || len(st.at[w])+len(st.at[w+"'s"]) != len(toks) {
		return Person{}, false // also written small
	}
	inside, agents, he, she, of, in := 0, 0, 0, 0, 0, 0
	family := "" // the second part of a name: Gynt of Per Gynt
	for _, i := range toks {
		t := st.toks[i]
		if !t.head {
			inside++
		}
		if i > 0 && st.toks[i-1].sent == t.sent && t.sep == "" {
			p := st.toks[i-1]
			switch {
			case p.w == "of":
				if of++; of > 1 {
					return Person{}, false // the goodwife of Kittlerumpit
				}
			case placeWords[p.w]:
				if in++; 6*in > len(toks) {
					return Person{}, false
				}
			case nobiliary[p.w], p.w == "the", p.w == "a", p.w == "an":
				return Person{}, false // De la Rue
			case p.upper && !p.head && !styles[p.w] && !speaking[p.w] && p.w != "i":
				return Person{}, false // a part of a longer name
			}
		}
		if i+1 < len(st.toks) && st.toks[i+1].sent == t.sent && st.toks[i+1].sep == "" {
			n := st.toks[i+1]
			if n.upper && !functionWords[n.w] && n.w != "i" {
				if notNames[n.w] || family != "" && family != n.w || strings.HasSuffix(t.w, "'s") {
					return Person{}, false
				}
				family = n.w
			}
			if speaking[n.w] || strings.HasSuffix(n.w, "ed") {
				agents++
			}
		}
		for k := i + 1; k < len(st.toks) && st.toks[k].sent <= t.sent+1 && k < i+25; k++ {
			if st.toks[k].upper && !st.toks[k].head && st.toks[k].w != w && st.toks[k].w != family && st.toks[k].w != "i" {
				break // another name may own the pronoun
			}
			if st.toks[k].speech && !t.speech {
				continue
			}
			if males[st.toks[k].w] {
				he++
			}
			if females[st.toks[k].w] {
				she++
			}
		}
	}
	known := lexicon().given[w]
	if inside < 2 || agents < 2 && known == "" {
		return Person{}, false
	}
	first := st.toks[toks[0]]
	name := strings.TrimSuffix(strings.TrimSuffix(st.Text[first.start:first.end], "'s"), "’s")
	if name != upperFirst(strings.ToLower(name)) {
		return Person{}, false // in capitals
	}
	switch {
	case known == "m" && he > 0 && 2*he >= she, known == "f" && she > 0 && 2*she >= he:
		return Person{Name: name, Gender: known, Sure: of == 0 && agents >= 2, toks: toks}, true
	case known != "":
		return Person{}, false
	case he >= 3 && he >= 3*she:
		return Person{Name: name, Gender: "m", Sure: of == 0 && agents >= 3, toks: toks}, true
	case she >= 3 && she >= 3*he:
		return Person{Name: name, Gender: "f", Sure: of == 0 && agents >= 3, toks: toks}, true
	}
	return Person{}, false
}

// People returns the names that a survey of a collection keeps.
func (st *Story) People() []Person { return st.people() }

// SmallWords yields the words that the story writes with a small first letter.
func (st *Story) SmallWords() iter.Seq[string] {
	return func(yield func(string) bool) {
		for w, at := range st.at {
			for _, i := range at {
				if !st.toks[i].upper {
					if !yield(w) {
						return
					}
					break
				}
			}
		}
	}
}

// names finds renames (rule 8). Candidates are names of other tales of the
// collection, each with its gender.
func (st *Story) names(candidates []Person) []*Flip {
	if st.has("apostle", "apostles", "disciple", "disciples", "bible", "gospel") {
		return nil // there a name is known from elsewhere
	}
	var out []*Flip
	for _, p := range st.people() {
		if f := st.rename(p, candidates); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (st *Story) rename(p Person, candidates []Person) *Flip {
	w := strings.ToLower(p.Name)
	for t, at := range st.at {
		if t != w && sameName(t, w) && slices.ContainsFunc(at, func(k int) bool { return st.toks[k].upper }) {
			return st.turnDown(w, "name", "kindred_word") // Kate is Catherine
		}
		if t != w && t != w+"'s" && (compoundHas(t, w) || len(w) >= 4 && strings.HasPrefix(t, w[:4])) && (st.capital(t) || !plainName(w, p.Gender)) { // a jacket has nothing to do with Jack
			return st.turnDown(w, "name", "kindred_word")
		}
		if len(t) > 3 && t != w && t != w+"'s" && sharedStart(t, w) >= max(3, min(4, len(w)-1)) && st.toks[at[0]].upper && !st.toks[at[0]].head {
			return st.turnDown(w, "name", "kindred_word") // Annie beside Anne
		}
		if short := strings.TrimSuffix(strings.TrimSuffix(t, "'s"), "y"); len(short) >= 3 && short != w && strings.HasPrefix(w, short) && st.toks[at[0]].upper {
			return st.turnDown(w, "name", "kindred_word") // Dan beside Daniel
		}
	}
	if !plainName(w, p.Gender) && st.described(w) {
		return st.turnDown(w, "name", "descriptive_name")
	}
	if !plainName(w, p.Gender) && !st.human(p) || st.beast(p) {
		return st.turnDown(w, "name", "no_human")
	}
	f := &Flip{Class: "name", Category: "character", Kind: "continuity", Subtype: "nomenclature_confusions", Head: p.Name, Old: p.Name, group: "person", gender: p.Gender, forms: []string{w}}
	for _, i := range p.toks {
		t := st.toks[i]
		if st.sentHas(t.sent, naming) && st.sentHas(t.sent, calling) {
			return st.turnDown(w, "name", "name_explained")
		}
		if i > 0 && st.toks[i-1].sent == t.sent && (surnamed[st.toks[i-1].w] || styled[st.toks[i-1].w] && !plainName(w, p.Gender)) {
			return st.turnDown(w, "name", "surname") // Mr. Hocart has a Christian name too
		}
		if n := i + 2; n < len(st.toks) && st.toks[n].sent == t.sent && st.toks[i+1].w == "or" && st.toks[n].upper {
			return st.turnDown(w, "name", "two_names") // Jenik, or Johnnie
		}
		if st.titleAt(i) {
			return st.turnDown(w, "name", "title")
		}
		if endsPossessive(st.Text, t.end) {
			return st.turnDown(w, "name", "odd_possessive")
		}
	}
	if lexicon().world[w] == "" && st.eastern() {
		return st.turnDown(w, "name", "no_new_value") // Halvor would be a stranger in Ping-yang
	}
	for _, n := range st.shuffledPeople(candidates, p.Name) {
		low := strings.ToLower(n.Name)
		if n.Far && !plainName(w, p.Gender) || plainName(w, p.Gender) && !plainName(low, n.Gender) || !sameWorld(low, w) {
			continue // Frederick would be a stranger beside Dschang, Ananzi or Cormac beside Peter
		}
		if !plainName(low, n.Gender) && (n.Far || n.Stories < 2 || otherGender(low, n.Gender) || madeOf(low, isWord)) {
			continue // a nickname, or a name nobody else bears
		}
		if n.Gender != p.Gender || st.alike(low, p) || variantOf(low, w) || st.has(low) || st.has(low+"'s") {
			continue
		}
		f.New = n.Name
		break
	}
	if f.New == "" {
		return st.turnDown(w, "name", "no_new_value")
	}
	role := "man or boy"
	if p.Gender == "f" {
		role = "woman or girl"
	}
	f.Statement = "A " + role + " of the story is called " + f.Old + "."
	f.Counterfactual = "A " + role + " of the story is called " + f.New + "."
	for _, i := range p.toks {
		t := st.toks[i]
		end := t.start + len(p.Name)
		f.Changes = append(f.Changes, Change{Range: text.Range{Start: t.start, End: end}, New: matchCase(st.Text[t.start:end], f.New), Sent: t.sent, Speech: t.speech, Long: t.long, States: true})
	}
	return f
}

// surnamed stand before a family name.
var surnamed = set("mr mrs miss dr mister mistress monsieur madame mademoiselle herr frau squire colonel captain")

// styled stand before either name: Dame Trundle has a Christian name too, Dame
// Margery need not tell hers.
var styled = set("dame goody gammer gaffer goodman goodwife farmer widow parson deacon doctor sergeant corporal major general baron count")

// titleAt reports a name, at token i, that is one of a kind, or another's: the
// Buddha, a clever John. "The next morning Hans" is no such phrase.
func (st *Story) titleAt(i int) bool {
	np := st.phrase(i)
	if np.dtok < 0 || st.toks[i].sep != "" {
		return false
	}
	beside := np.dtok == i-1
	switch np.det {
	case "the":
		return beside
	case "a":
		return beside || !st.strangeMods(np)
	case "other":
		w := st.toks[np.dtok].w
		return beside && (w == "another" || w == "every" || w == "no" || w == "any" || w == "some")
	}
	return false
}

// sharedStart returns how many bytes two names have in common from the start.
func sharedStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// initial returns the first sound of a name, so that Karin is not given to
// Caroline.
func initial(low string) byte {
	switch c := low[0]; c {
	case 'k', 'q':
		return 'c'
	case 'y', 'i', 'g':
		return 'j'
	default:
		return c
	}
}

// variantOf reports that two names may be one person's: they start alike, one is
// a clip of the other, they have the same consonants, or are forms of one name.
func variantOf(a, b string) bool {
	if initial(a) == initial(b) || len(a) >= 3 && strings.Contains(b, a) || len(b) >= 3 && strings.Contains(a, b) || skeleton(a) == skeleton(b) {
		return true
	}
	return sameName(a, b)
}

// sameName reports forms of one name.
func sameName(a, b string) bool {
	return slices.ContainsFunc(lexicon().forms, func(s map[string]bool) bool { return s[a] && s[b] })
}

// skeleton returns the consonants of a name.
func skeleton(low string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("aeiouyh", r) {
			return -1
		}
		return r
	}, strings.NewReplacer("c", "k", "q", "k", "z", "s").Replace(low))
}

// alike reports that the story has another name that starts like a new one:
// Vanya and Vanoushka would be taken for one.
func (st *Story) alike(low string, p Person) bool {
	if len(low) < 3 {
		return true
	}
	n := 3
	if len(low) == 3 {
		n = 2 // Jan beside Jack
	}
	for w, at := range st.at {
		if strings.HasPrefix(w, low[:n]) && st.toks[at[0]].upper && !st.toks[at[0]].head && w != strings.ToLower(p.Name) {
			return true
		}
	}
	return false
}

func (st *Story) shuffledPeople(in []Person, old string) []Person {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b Person) int {
		if a.Far != b.Far {
			if b.Far {
				return -1
			}
			return 1
		}
		return st.draw(1<<30, "name", old, a.Name) - st.draw(1<<30, "name", old, b.Name)
	})
	return out
}

// plainName reports a name of given.tsv.
func plainName(low, gender string) bool { return lexicon().given[low] == gender }

// sameWorld reports that a new name may stand in the tale of an old one: one of
// its own world, or one at home in all the west where the old one's is of the
// north or of nobody knows where.
func sameWorld(to, old string) bool {
	world := lexicon().world
	switch w := world[to]; {
	case w == "" || w == world[old]:
		return true
	case w == "-":
		return northern[world[old]]
	}
	return false
}

var northern = map[string]bool{"": true, "nordic": true, "german": true, "british": true}

// eastern reports a tale of the east, by what only such tales speak of.
func (st *Story) eastern() bool {
	for _, w := range easternWords {
		for _, t := range st.at[w] {
			if !st.toks[t].upper {
				return true
			}
		}
	}
	for w, at := range st.at {
		if easternNames[w] || st.toks[at[0]].upper && slices.ContainsFunc(easternPlaces, func(end string) bool { return len(w) > len(end)+2 && strings.HasSuffix(w, end) }) {
			return true
		}
	}
	return false
}

var easternWords = strings.Fields("mandarin mandarins rajah raja ranee rani maharaja brahman brahmin brahmans pagoda yamen caliph vizier vizir dervish fakir samurai daimyo mikado geisha kimono bamboo lotus rupees jade rickshaw turban tael taels sutra bonze paddy palanquin elephants howdah sandal-wood sandalwood")

var (
	easternNames  = set("china chinese japan japanese india raja rajah rani allah buddha tao taoist siva shiva vishnu indra yaksha rakshasa ganges benares himalaya himavat")
	easternPlaces = strings.Fields("vati pura nagar abad varman datta putra yang")
)

func otherGender(low, gender string) bool {
	g := lexicon().given[low]
	return g != "" && g != gender
}

// described reports a name that says what its bearer is: Redhead, Scrapefoot.
// It is a nickname, and whoever has one has another name beside it.
func (st *Story) described(low string) bool {
	for _, end := range []string{"ful", "less", "ness", "ing", "some", "foot", "head"} {
		if strings.HasSuffix(low, end) {
			return true // Faithful and Unfaithful
		}
	}
	return madeOf(low, func(w string) bool { return isWord(w) || len(st.at[w]) > 0 && !st.toks[st.at[w][0]].upper })
}

// madeOf reports a word that is a word of the language, or a compound with one
// at an end and a word or a vowel's worth of a word at the other.
func madeOf(low string, word func(string) bool) bool {
	if word(low) || strings.ContainsAny(low, "-' ") {
		return true
	}
	for i := 3; i+3 <= len(low); i++ {
		if word(low[:i]) || word(low[i:]) && len(low[i:]) >= 4 {
			return true
		}
	}
	for _, end := range []string{"y", "ie", "kin", "ling", "ey"} {
		if stem, ok := strings.CutSuffix(low, end); ok && len(stem) >= 3 && (word(stem) || word(stem+"e") || stem[len(stem)-1] == stem[len(stem)-2] && word(stem[:len(stem)-1])) {
			return true
		}
	}
	return false
}

// isWord reports a word of the lexicon that a name can be made of.
func isWord(w string) bool {
	lex := lexicon()
	return len(w) >= 3 && (lex.noun[w] || lex.heads[w].one != "" || lex.words["modifier"][w] || len(lex.class[w]) > 0 || bodyWords[w])
}

var bodyWords = set("foot feet hand head face eye ear nose beak bill wing paw claw fur skin leg arm neck back coat cap hood shanks toe finger thumb tooth teeth hair beard horn boy girl man maid wife mother father granny daddy king queen snow sun moon star wind water fire gold silver wool bone bell heart")

// human reports that the story says early that the bearer is a man or woman.
func (st *Story) human(p Person) bool {
	for _, i := range p.toks[:2] {
		if st.sentHas(st.toks[i].sent, humans) {
			return true
		}
	}
	return false
}

var humans = set("man boy lad youth woman girl maiden maid lass son daughter brother sister husband wife child king queen prince princess fellow servant peasant merchant knight soldier fisherman farmer shepherd widow orphan father mother")

// beast reports a name whose bearer is, or may be, an animal: a beast of the
// lexicon stands beside the name or has its kind for a name too, or the bearer
// barks. A second dog can always
// come by.
func (st *Story) beast(p Person) bool {
	lex := lexicon()
	for w, at := range st.at {
		if x := lex.byNoun[w]; x.class != "species" || !beings[x.group] {
			continue
		}
		called := 0
		for _, i := range at {
			if st.toks[i].upper && !st.toks[i].head {
				called++
			}
		}
		if called >= 2 {
			return true // a fable: Baboon and Tiger are names there
		}
	}
	human := st.human(p)
	for n, i := range p.toks {
		for k := max(i-4, 0); k <= i+5 && k < len(st.toks); k++ {
			if st.toks[k].sent != st.toks[i].sent {
				continue
			}
			w := strings.TrimSuffix(st.toks[k].w, "'s")
			if animalSigns[w] {
				return true
			}
			if x, ok := lex.byNoun[w]; ok && x.class == "species" && beings[x.group] && (k == i-1 || !human && (k == i-2 || n == 0)) {
				return true
			}
		}
	}
	return false
}

var animalSigns = set("paw paws tail barked barking bark purred mewed whiskers fur feathers wings hoofs hooves beak snout burrow den kennel neighed growled squeaked chirped croaked dog-cart puppy kitten")
