// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// ListSpec describes an answer that is an object of lists: findings of a judge
// by kind. Keys are the lists' names; Aliases are other names that prompts or
// models use for them; By is the field of an item that names its list, for
// models that return one flat list; Evidence are the fields of which one must
// hold something for an item to say anything.
type ListSpec struct {
	Keys     []string
	Aliases  map[string]string
	By       string
	Evidence []string
}

// List is one list of such an answer.
type List struct {
	Key       string
	Present   bool              // the answer has it, be it empty
	Items     []json.RawMessage // objects, strict JSON, evidence present
	Malformed int               // items that are no objects
	NoProof   int               // items dropped for empty evidence
	Echoed    int               // items dropped because they are the prompt's own example
}

// Lists reads an answer that is an object of lists. It returns one List per
// key of the spec, in that order. Beyond the liberties of [Reply.JSON] it takes
// one object for a list of one; null, "none" and the like for an empty list;
// wrapper objects; a top-level array of such objects, joined; a flat list whose
// items name their kind (By); `key: [...]` lines and headings with a list
// below. The same key twice in one object is joined, two versions of the whole
// answer are not: the last one counts.
//
// Items under an unknown key beside known ones go where By says; those that
// name no list are noted, and count as malformed when a list is missing: its
// name was then mistaken, not its content empty.
//
// No known key at all is parse_failed. Text that ends inside its structure is
// truncated, except when every key was there and only brackets are missing.
// When all that was found is malformed the outcome is malformed_items: somebody
// meant something, so it is not "nothing found".
func (r *Reply) Lists(spec ListSpec) ([]List, error) {
	names := map[string]int{}
	for i, k := range spec.Keys {
		names[foldKey(k)] = i
	}
	for alias, k := range spec.Aliases {
		if i, ok := names[foldKey(k)]; ok {
			names[foldKey(alias)] = i
		}
	}
	exact := func(key string) bool {
		if spec.Aliases[key] != "" {
			return true
		}
		for _, k := range spec.Keys {
			if k == key {
				return true
			}
		}
		return false
	}

	values := findJSON(r.Text)
	fits := 0
	var best *listReader
	var bestFound found
	for i := len(values) - 1; i >= 0; i-- {
		f := values[i]
		l := &listReader{spec: spec, names: names, exact: exact, vals: make([][]*node, len(spec.Keys)), present: make([]bool, len(spec.Keys))}
		if !l.walk(f.node, 0) && !l.flat(f.node) {
			if f.cut && fits == 0 && i == len(values)-1 && len(values) == 1 && !r.hasLines(names) {
				return nil, Failed(Truncated, "the text ends inside its JSON")
			}
			continue
		}
		if f.cut {
			if fits > 0 {
				continue
			}
			if !f.whole || !l.complete() {
				return nil, Failed(Truncated, "the text ends inside its JSON")
			}
			l.note("closing brackets missing at the end")
		}
		if fits++; fits == 1 {
			best, bestFound = l, f
		}
	}
	if best == nil {
		l := &listReader{spec: spec, names: names, exact: exact, vals: make([][]*node, len(spec.Keys)), present: make([]bool, len(spec.Keys))}
		if err := l.lines(r.Text); err != nil {
			return nil, err
		}
		best = l
	} else {
		r.marks(bestFound)
		if fits > 1 {
			r.Mark(OK, fmt.Sprintf("%d JSON values fit, the last was read", fits))
		}
	}
	if len(best.notes) > 0 {
		r.Mark(Repaired, strings.Join(best.notes, "; "))
	}
	return r.finishLists(best)
}

func (r *Reply) finishLists(l *listReader) ([]List, error) {
	out := make([]List, len(l.spec.Keys))
	items, malformed := 0, 0
	for i, key := range l.spec.Keys {
		out[i] = List{Key: key, Present: l.present[i]}
		for _, v := range l.vals[i] {
			switch {
			case v.kind != 'o':
				out[i].Malformed++
				malformed++
			case !l.evident(v):
				out[i].NoProof++
			case r.echoJSON(v):
				out[i].Echoed++
			default:
				out[i].Items = append(out[i].Items, v.appendJSON(nil))
				items++
			}
		}
		if n := out[i].Malformed; n > 0 {
			r.Mark(Repaired, fmt.Sprintf("%s: %d items that are no objects", key, n))
		}
		if n := out[i].NoProof; n > 0 {
			r.Mark(OK, fmt.Sprintf("%s: %d items without evidence dropped", key, n))
		}
		if n := out[i].Echoed; n > 0 {
			r.Mark(OK, fmt.Sprintf("%s: %d items of the prompt's example dropped", key, n))
		}
	}
	if l.strays > 0 {
		if items+malformed == 0 && !l.complete() {
			return out, Failed(MalformedItems, fmt.Sprintf("%d items under keys that were not asked for, and a list that was is missing", l.strays))
		}
		r.Mark(Repaired, fmt.Sprintf("%d items under keys that were not asked for are left out", l.strays))
	}
	if items == 0 && malformed > 0 {
		return out, Failed(MalformedItems, fmt.Sprintf("%d items, none of them an object", malformed))
	}
	return out, nil
}

type listReader struct {
	spec    ListSpec
	names   map[string]int
	exact   func(string) bool
	vals    [][]*node
	present []bool
	strays  int // items with evidence under keys that are none of the spec's
	notes   []string
}

func (l *listReader) note(s string) {
	for _, n := range l.notes {
		if n == s {
			return
		}
	}
	l.notes = append(l.notes, s)
}

func (l *listReader) complete() bool {
	for _, p := range l.present {
		if !p {
			return false
		}
	}
	return true
}

// walk takes the lists of n, of the objects inside wrapper keys, and of the
// objects of an array. It reports whether a key of the spec was there.
func (l *listReader) walk(n *node, depth int) bool {
	const deepest = 3
	hit := false
	switch n.kind {
	case 'o':
		for _, m := range n.obj {
			if i, ok := l.names[foldKey(m.key)]; ok && l.list(i, m.val) {
				if !l.exact(m.key) {
					l.note("key " + l.spec.Keys[i] + " spelled in another way")
				}
				hit = true
			}
		}
		if hit {
			l.others(n)
		}
		if hit || depth >= deepest {
			return hit
		}
		for _, m := range n.obj {
			v := m.val
			if v.kind == 's' {
				if v = parseString(v.str); v == nil {
					continue
				}
			}
			if v.kind == 'o' && l.walk(v, depth+1) {
				l.note("a wrapper key around the lists")
				hit = true
			}
		}
	case 'a':
		if depth > 0 {
			return false
		}
		for _, v := range n.arr {
			if v.kind == 'o' && l.walk(v, depth+1) {
				l.note("a list around the object")
				hit = true
			}
		}
	}
	return hit
}

// others takes the items that stand in n under keys that are not the spec's.
func (l *listReader) others(n *node) {
	for _, m := range n.obj {
		if _, known := l.names[foldKey(m.key)]; known || m.val.kind != 'a' {
			continue
		}
		for _, v := range m.val.arr {
			if v.kind != 'o' || len(l.spec.Evidence) == 0 || !l.evident(v) {
				continue
			}
			if kind, _ := v.member(l.spec.By); l.spec.By != "" && kind != nil && kind.kind == 's' {
				if i, ok := l.kindOf(kind.str); ok {
					l.vals[i], l.present[i] = append(l.vals[i], v), true
					l.note("items under an unknown key, sorted by " + l.spec.By)
					continue
				}
			}
			l.strays++
		}
	}
}

// list takes the value of one key.
func (l *listReader) list(i int, v *node) bool {
	switch v.kind {
	case 'a':
		l.vals[i] = append(l.vals[i], v.arr...)
	case 'o':
		// {"items": [...]} is a wrapper; anything else is one item.
		if len(v.obj) == 1 && v.obj[0].val.kind == 'a' {
			l.note("a wrapper key around a list")
			l.vals[i] = append(l.vals[i], v.obj[0].val.arr...)
		} else if len(v.obj) > 0 {
			l.note("one object where a list is wanted")
			l.vals[i] = append(l.vals[i], v)
		}
	case '0', 'f':
	case 's':
		if !none(v.str) {
			l.vals[i] = append(l.vals[i], v) // malformed, counted later
		}
	case 'n':
		if v.str != "0" {
			l.vals[i] = append(l.vals[i], v)
		}
	default:
		l.vals[i] = append(l.vals[i], v)
	}
	l.present[i] = true
	return true
}

// flat reads a list whose items name their kind.
func (l *listReader) flat(n *node) bool {
	if l.spec.By == "" {
		return false
	}
	if n.kind == 'o' {
		// {"errors": [{… "error_category": …}]}
		hit := false
		for _, m := range n.obj {
			if m.val.kind == 'a' && l.flat(m.val) {
				hit = true
			}
		}
		if hit {
			return true
		}
		if v, _ := n.member(l.spec.By); v == nil {
			return false
		}
		n = &node{kind: 'a', arr: []*node{n}}
	}
	if n.kind != 'a' || len(n.arr) == 0 {
		return false
	}
	var at []int
	for _, v := range n.arr {
		kind, _ := v.member(l.spec.By)
		if kind == nil || kind.kind != 's' {
			return false
		}
		i, ok := l.kindOf(kind.str)
		if !ok {
			return false
		}
		at = append(at, i)
	}
	for j, i := range at {
		l.vals[i] = append(l.vals[i], n.arr[j])
		l.present[i] = true
	}
	l.note("one flat list, sorted by " + l.spec.By)
	return true
}

func (l *listReader) kindOf(s string) (int, bool) {
	k := foldKey(s)
	for _, k := range []string{k, k + "s", k + "es", strings.TrimSuffix(k, "y") + "ies"} {
		if i, ok := l.names[k]; ok {
			return i, true
		}
	}
	// "social norm violation" is social_norms_violations.
	for i, key := range l.spec.Keys {
		if singular(key) == singular(s) {
			return i, true
		}
	}
	return 0, false
}

// singular folds a key and takes a final s off each of its words.
func singular(key string) string {
	words := strings.FieldsFunc(strings.ToLower(key), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "s")
	}
	return strings.Join(words, "")
}

// evident reports whether an item's evidence holds something.
func (l *listReader) evident(v *node) bool {
	if len(l.spec.Evidence) == 0 {
		return len(v.obj) > 0
	}
	for _, e := range l.spec.Evidence {
		if m, _ := v.member(e); m != nil && (m.kind != 's' && m.kind != '0' || m.kind == 's' && !blank(m.str)) {
			return true
		}
	}
	return false
}

func lineKeys(names map[string]int) map[string]string {
	want := map[string]string{}
	for k := range names {
		want[k] = k
	}
	return want
}

func (r *Reply) hasLines(names map[string]int) bool {
	want := lineKeys(names)
	for _, line := range strings.Split(r.Text, "\n") {
		if _, _, ok := heading(bareKey(line), want); ok {
			return true
		}
	}
	return false
}

// bareKey takes quotation marks and backticks off a key at the start of a line.
func bareKey(line string) string {
	return strings.NewReplacer("`", "", `"`, "").Replace(line)
}

// lines reads `key: [...]` lines and headings with a list below.
func (l *listReader) lines(text string) error {
	want := lineKeys(l.names)
	type part struct {
		i    int
		text strings.Builder
	}
	var parts []*part
	for _, line := range strings.Split(text, "\n") {
		bare := line
		if at := strings.IndexAny(line, "[{"); at >= 0 {
			bare = bareKey(line[:at]) + line[at:]
		} else {
			bare = bareKey(line)
		}
		if name, width, ok := heading(bare, want); ok {
			p := &part{i: l.names[name]}
			p.text.WriteString(bare[width:])
			parts = append(parts, p)
			continue
		}
		if len(parts) > 0 {
			parts[len(parts)-1].text.WriteString("\n" + line)
		}
	}
	if len(parts) == 0 {
		what := "the answer"
		if !strings.ContainsAny(text, "{[") {
			what = "the answer, which holds no JSON"
		}
		return Failed(ParseFailed, "none of the keys "+strings.Join(l.spec.Keys, ", ")+" in "+what)
	}
	for _, p := range parts {
		t := strings.TrimSpace(p.text.String())
		values := findJSON(t)
		switch {
		case len(values) > 0:
			for _, f := range values {
				if f.cut {
					return Failed(Truncated, "the text ends inside its JSON")
				}
				for _, n := range f.notes {
					l.note(n)
				}
				l.list(p.i, f.node)
			}
		case none(t):
			l.present[p.i] = true
		default:
			// Prose under a known heading: somebody meant something.
			l.list(p.i, &node{kind: 's', str: t})
		}
	}
	l.note("keys as lines or headings")
	return nil
}
