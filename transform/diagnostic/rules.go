// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// rules proposes what can be known without a model, best first: a detail that
// the story itself establishes, and later has otherwise, before a pair of
// sentences that were put in.
func (in *Injector) rules(s schemas.Story) []proposal {
	if s.Language != "" && s.Language != "en" && !strings.HasPrefix(s.Language, "en-") {
		return nil
	}
	r := in.read(s)
	if len(r.sents) < 12 {
		return nil
	}
	var out []proposal
	for _, f := range r.off.Flips(in.cfg.Survey.People(s.Collection, s.GroupID)) {
		if p, ok := r.flip(f); ok {
			out = append(out, p)
		}
	}
	out = append(out, r.firstPerson()...)
	return append(out, r.pairs()...)
}

// flip makes the fact of a flip the earlier passage: from some mention on, all
// mentions have the other value. The engine's own rules decide from which
// mention on the story has leaned on the fact (package offline, [offline.Story.Fits]).
func (r *reading) flip(f *offline.Flip) (proposal, bool) {
	for k := 1; k < len(f.Changes); k++ {
		from := r.sents[f.Changes[k].Sent].Start
		if f.Changes[k-1].Sent == f.Changes[k].Sent || !r.off.Fits(f, from) {
			continue
		}
		facts, later := f.Evidence(from), f.Supports(from)
		if len(facts) == 0 || len(later) == 0 {
			continue
		}
		p := proposal{subtype: f.Subtype, class: f.Class, checked: "rules",
			explanation: fmt.Sprintf("Earlier: %s Later: %s", f.Statement, f.Counterfactual)}
		main := -1
		for _, c := range f.Changes {
			if c.Start < from {
				continue
			}
			p.changes = append(p.changes, change{Range: c.Range, New: c.New})
			if at := len(p.changes) - 1; main < 0 && c.States && !c.Speech {
				main = at
			}
			p.contras = append(p.contras, changed(len(p.changes)-1))
		}
		if main < 0 {
			continue
		}
		p.contra = changed(main)
		// The fact is what the narrator says: what somebody says, asks for or has
		// told to others may be of another thing.
		told := false
		for _, e := range facts {
			if !told && r.tale[e] {
				p.fact, told = standing(r.sents[e]), true
			}
			p.facts = append(p.facts, standing(r.sents[e]))
		}
		if !told {
			continue
		}
		return p, true
	}
	return proposal{}, false
}

// first-person words; a story that narrates with them has no third person to
// fall out of.
var firstPersons = strings.Fields("i me my mine myself we us our ours i'm i'd i'll i've")

// pastForms are verbs that are the same behind he and behind I.
var pastForms = toSet(`was had could would should might must did went came saw took gave got sat stood lay ran rode wept fell felt found
	heard held kept knew led left lost made met put read said set slept spoke threw told thought turned woke wore began became brought
	bought built caught chose drew drank drove ate fought flew forgot grew hid let rose sang sank shook shot shut spent spread stole
	stuck struck swam swore swung taught tore understood won wrote crept leapt dug bent bit blew bound broke cut dealt fed fled flung hung
	hurt knelt lit meant paid rang sent shone slid sold sought sped spun sprang strode strove swept trod wound never always then soon
	only still also at once again`)

func toSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// firstPerson lets the narration of a sentence slip from "he" into "I": narrative
// perspective, once, in a story told in the third person. Only sentences that
// begin with He, speak of no other man or beast as he, and whose verbs are the
// same in both persons.
func (r *reading) firstPerson() []proposal {
	for i := range r.sents {
		if !r.tale[i] {
			continue
		}
		for _, w := range firstPersons {
			for _, x := range r.words[i] {
				if x == w {
					return nil
				}
			}
		}
	}
	var found []proposal
	for i := len(r.sents) * 2 / 5; i < len(r.sents)-1; i++ {
		if !r.tale[i] || len(r.words[i]) > 30 {
			continue
		}
		changes, ok := toFirst(r.s, r.sents[i])
		if !ok {
			continue
		}
		// The sentence before it tells of him in the third person.
		fact := -1
		for k := i - 1; k >= 0 && k >= i-6; k-- {
			if r.tale[k] && hasAny(r.words[k], "he", "him") && !hasAny(r.words[k], firstPersons...) {
				fact = k
				break
			}
		}
		if fact < 0 {
			continue
		}
		found = append(found, proposal{subtype: "perspective_confusions", class: "first_person", checked: "rules",
			changes: changes, fact: standing(r.sents[fact]), contra: changed(0),
			explanation: "The story is told in the third person; in this one sentence the narrator says \"I\" for the man it has just called \"he\"."})
	}
	return shuffled(r, found, func(p proposal) string { return fmt.Sprint(p.changes[0].Start) })
}

func hasAny(words []string, any ...string) bool {
	for _, w := range words {
		for _, a := range any {
			if w == a {
				return true
			}
		}
	}
	return false
}

// toFirst puts a sentence about one man into the first person.
func toFirst(s string, t text.Range) ([]change, bool) {
	body := t.Of(s)
	if !strings.HasPrefix(body, "He ") {
		return nil, false
	}
	to := map[string]string{"he": "I", "him": "me", "his": "my", "himself": "myself"}
	var out []change
	at := 0
	words := strings.FieldsFunc(body, func(c rune) bool { return !isLetter(c) })
	for k, w := range words {
		i := strings.Index(body[at:], w) + at
		at = i + len(w)
		low := strings.ToLower(w)
		switch low {
		case "she", "her", "hers", "herself", "they", "them", "their", "man", "men", "another", "other", "who", "whom", "brother", "son", "father", "king",
			"prince", "boy", "is", "has", "does", "am", "are":
			return nil, false // somebody else may be he, or the tense is not the past
		}
		if k > 0 && w != low && low != "i" {
			return nil, false // a name: he may be that one
		}
		new, ok := to[low]
		if !ok {
			continue
		}
		if low == "he" {
			if k+1 >= len(words) {
				return nil, false
			}
			next := strings.ToLower(words[k+1])
			if !pastForms[next] && !strings.HasSuffix(next, "ed") || at < len(body) && body[at] != ' ' {
				return nil, false
			}
		}
		if low == "his" && at < len(body) && body[at] != ' ' {
			return nil, false // "his" without a noun would be "mine"
		}
		out = append(out, change{Range: text.Range{Start: t.Start + i, End: t.Start + i + len(w)}, New: new})
	}
	return out, len(out) > 0
}

func isLetter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '\'' || c > 0x7F
}
