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
	placeWords = set("in at near into through toward towards leave left reach reached")
	speaking   = set(`said answered asked cried went came had was took saw thought looked ran began gave told replied sat got
		stood knew laughed called felt could did would put made found heard lay wept rode turned jumped walked`)
	nobiliary = set("de la le du des von van der den di da del mac ap ben al el o")
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
	inside, agents, he, she, of := 0, 0, 0, 0, 0
	for _, i := range toks {
		t := st.toks[i]
		if !t.head {
			inside++
		}
		if i > 0 && st.toks[i-1].sent == t.sent && t.sep == "" {
			p := st.toks[i-1]
			if p.w == "of" {
				if of++; of > 1 {
					return Person{}, false // the goodwife of Kittlerumpit
				}
			}
			if nobiliary[p.w] {
				return Person{}, false // De la Rue
			}
			if placeWords[p.w] || p.w == "the" || p.w == "a" || p.w == "an" {
				return Person{}, false
			}
			if p.upper && !p.head {
				return Person{}, false // a part of a longer name
			}
		}
		if i+1 < len(st.toks) && st.toks[i+1].sent == t.sent && st.toks[i+1].sep == "" {
			n := st.toks[i+1]
			if n.upper && !notNames[n.w] && !functionWords[n.w] {
				return Person{}, false
			}
			if speaking[n.w] || strings.HasSuffix(n.w, "ed") {
				agents++
			}
		}
		for k := i + 1; k < len(st.toks) && st.toks[k].sent <= t.sent+1 && k < i+25; k++ {
			if st.toks[k].upper && !st.toks[k].head && st.toks[k].w != w {
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
	if inside < 2 || agents < 2 {
		return Person{}, false
	}
	first := st.toks[toks[0]]
	name := strings.TrimSuffix(strings.TrimSuffix(st.Text[first.start:first.end], "'s"), "’s")
	if name != upperFirst(strings.ToLower(name)) {
		return Person{}, false // in capitals
	}
	switch {
	case he >= 3 && he >= 3*she:
		return Person{name, "m", of == 0 && agents >= 3, toks}, true
	case she >= 3 && she >= 3*he:
		return Person{name, "f", of == 0 && agents >= 3, toks}, true
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
	for t := range st.at {
		if t != w && t != w+"'s" && (compoundHas(t, w) || len(w) >= 4 && strings.HasPrefix(t, w[:4])) {
			return st.turnDown(w, "name", "kindred_word")
		}
	}
	f := &Flip{Class: "name", Category: "character", Kind: "continuity", Subtype: "nomenclature_confusions", Head: p.Name, Old: p.Name, group: "person", forms: []string{w}}
	for _, i := range p.toks {
		t := st.toks[i]
		if st.sentHas(t.sent, naming) && st.sentHas(t.sent, calling) {
			return st.turnDown(w, "name", "name_explained")
		}
		if np := st.phrase(i); np.det == "the" && st.strangeMods(np) {
			return st.turnDown(w, "name", "title")
		}
		if endsPossessive(st.Text, t.end) {
			return st.turnDown(w, "name", "odd_possessive")
		}
	}
	for _, n := range st.shuffledPeople(candidates, p.Name) {
		low := strings.ToLower(n.Name)
		if n.Gender != p.Gender || st.alike(low, p) || low[0] == w[0] || st.has(low) || st.has(low+"'s") {
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

// alike reports that the story has another name that starts like a new one:
// Vanya and Vanoushka would be taken for one.
func (st *Story) alike(low string, p Person) bool {
	if len(low) < 3 {
		return true
	}
	for w, at := range st.at {
		if strings.HasPrefix(w, low[:3]) && st.toks[at[0]].upper && !st.toks[at[0]].head && w != strings.ToLower(p.Name) {
			return true
		}
	}
	return false
}

func (st *Story) shuffledPeople(in []Person, old string) []Person {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b Person) int {
		return st.draw(1<<30, "name", old, a.Name) - st.draw(1<<30, "name", old, b.Name)
	})
	return out
}
