// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform/check"
)

// checkTally counts what a run found.
type checkTally struct {
	stories  int
	judge    string
	anchored int
	judged   int // answers of a category that could be read
	failed   int
	status   map[string]map[string]int // category -> status -> samples
	found    map[string]map[string]int // category -> status of the finding -> findings
	clean    map[string]int            // stories without a finding, all samples judged
	classes  map[string]int            // of the quotes of all findings
	also     int
	agree    map[string]*schemas.CheckAgreement
	skipping map[string]bool // categories that the judge cannot judge
}

func newCheckTally() *checkTally {
	return &checkTally{status: map[string]map[string]int{}, found: map[string]map[string]int{}, clean: map[string]int{}, classes: map[string]int{},
		agree: map[string]*schemas.CheckAgreement{}, skipping: map[string]bool{}}
}

func bump(m map[string]map[string]int, a, b string) {
	if m[a] == nil {
		m[a] = map[string]int{}
	}
	m[a][b]++
}

func (t *checkTally) count(rep schemas.CheckReport) {
	t.stories++
	t.judge = rep.Judge
	bad, some := map[string]bool{}, map[string]bool{}
	for _, s := range rep.Status {
		bump(t.status, s.Category, s.Status)
		if s.Status == "ok" || s.Status == "repaired" {
			t.judged++
		} else {
			t.failed++
			bad[s.Category] = true
		}
	}
	for _, c := range rep.NotJudged {
		t.skipping[c], bad[c] = true, true
	}
	for _, f := range rep.Findings {
		bump(t.found, f.Category, f.Status)
		if f.Status == check.Anchored {
			t.anchored++
			some[f.Category] = true
		}
		if len(f.Also) > 0 {
			t.also++
		}
		for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
			class := e.Class
			if e.Flagged {
				class += " (flagged)"
			}
			if class != "" {
				t.classes[class]++
			}
		}
	}
	for _, c := range schemas.Categories {
		if !bad[c.Name] && !some[c.Name] {
			t.clean[c.Name]++
		}
	}
	for _, a := range rep.Agreement {
		if t.agree[a.Category] == nil {
			t.agree[a.Category] = &schemas.CheckAgreement{Category: a.Category}
		}
		g := t.agree[a.Category]
		g.Pairs, g.Both, g.Either, g.Same = g.Pairs+a.Pairs, g.Both+a.Both, g.Either+a.Either, g.Same+a.Same
	}
}

// failures are the statuses that are no judgement, with their numbers.
func (t *checkTally) failures() []string {
	n := map[string]int{}
	for _, by := range t.status {
		for s, k := range by {
			if s != "ok" && s != "repaired" {
				n[s] += k
			}
		}
	}
	var out []string
	for _, s := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s %d", s, n[s]))
	}
	return out
}

// counts go into the step's manifest.
func (t *checkTally) counts() []schemas.Count {
	m := map[string]int{"findings/also": t.also}
	for c, by := range t.status {
		for s, n := range by {
			m["status/"+c+"/"+s] = n
		}
	}
	for c, by := range t.found {
		for s, n := range by {
			m["findings/"+c+"/"+s] = n
		}
	}
	for c, n := range t.classes {
		m["quotes/"+c] = n
	}
	return pipeline.SortedCounts(m)
}

// table is the run on a page, by category.
func (t *checkTally) table(skipped map[string]int) *report.Table {
	columns := []string{"category", "judged", "failed", "findings", "unanchored", "copied", "without findings"}
	if len(t.agree) > 0 {
		columns = append(columns, "samples agree", "findings agree")
	}
	tab := &report.Table{Title: fmt.Sprintf("%s, judged by %s", count(t.stories, "story", "stories"), t.judge), Columns: columns}
	var all [6]int
	total := schemas.CheckAgreement{}
	for _, c := range schemas.Categories {
		if t.skipping[c.Name] {
			row := []any{c.Name, "not judged"}
			for len(row) < len(columns) {
				row = append(row, nil)
			}
			tab.Add(row...)
			continue
		}
		ok, bad := 0, 0
		for s, n := range t.status[c.Name] {
			if s == "ok" || s == "repaired" {
				ok += n
			} else {
				bad += n
			}
		}
		f := t.found[c.Name]
		row := []int{ok, bad, f[check.Anchored], f[check.Unanchored], f[check.Copied], t.clean[c.Name]}
		cells := []any{c.Name}
		for i, n := range row {
			cells = append(cells, n)
			all[i] += n
		}
		if a := t.agree[c.Name]; a != nil {
			cells = append(cells, ratioCell(a.Same, a.Pairs), ratioCell(a.Both, a.Either))
			total.Same, total.Pairs, total.Both, total.Either = total.Same+a.Same, total.Pairs+a.Pairs, total.Both+a.Both, total.Either+a.Either
		} else if len(t.agree) > 0 {
			cells = append(cells, nil, nil)
		}
		tab.Add(cells...)
	}
	cells := []any{"all"}
	for _, n := range all[:5] {
		cells = append(cells, n)
	}
	cells = append(cells, nil)
	if len(t.agree) > 0 {
		cells = append(cells, ratioCell(total.Same, total.Pairs), ratioCell(total.Both, total.Either))
		tab.Notes = append(tab.Notes, "samples agree: pairs of samples that agree on whether there is a finding; findings agree: findings that both report, of those that one or both report")
	}
	tab.Add(cells...)
	var classes []string
	for _, c := range slices.Sorted(maps.Keys(t.classes)) {
		classes = append(classes, fmt.Sprintf("%s %d", c, t.classes[c]))
	}
	if len(classes) > 0 {
		tab.Notes = append(tab.Notes, "quotes by class: "+strings.Join(classes, ", "))
	}
	if t.also > 0 {
		tab.Notes = append(tab.Notes, "reported under several subtypes, counted once: "+count(t.also, "finding", "findings"))
	}
	if f := t.failures(); len(f) > 0 {
		tab.Notes = append(tab.Notes, "answers that could not be used: "+strings.Join(f, ", "))
	}
	if note := skippedNote(skipped); note != "" {
		tab.Notes = append(tab.Notes, strings.Trim(note, " ()"))
	}
	return tab
}

func ratioCell(a, b int) any {
	if b == 0 {
		return "n/a"
	}
	return float64(a) / float64(b)
}

// printCheck prints what was found in one text: places as file:line, both
// passages, the reasoning.
func printCheck(w io.Writer, from checked, rep schemas.CheckReport) error {
	var b strings.Builder
	colour := colourful(w)
	paint := func(code, s string) string {
		if !colour {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	n, aside := 0, 0
	for _, f := range rep.Findings {
		if f.Status == check.Anchored {
			n++
		} else {
			aside++
		}
	}
	// Where most is written without blanks, each ideograph is a word.
	words := rep.Words
	if n := text.WordsCJK(from.Story); n > 2*words {
		words = n
	}
	fmt.Fprintf(&b, "%s: %d words, judged by %s (%s): %s\n", printable(from.where), words, rep.Judge, rep.Protocol, contradictions(n))
	line := func(e schemas.Evidence) int {
		return 1 + from.lines + strings.Count(from.Story[:e.Spans[0].ByteStart], "\n")
	}
	side := func(name, code string, e schemas.Evidence) {
		switch {
		case len(e.Spans) > 0:
			fmt.Fprintf(&b, "   %s:%d: %s %s\n", printable(from.where), line(e), paint(code, name), passageOf(e))
		case e.Quote != "":
			fmt.Fprintf(&b, "   not in the story: %s\n", quoteOf(e.Quote))
		}
		if e.Flagged || e.Class == string(text.ClassNone) && e.Why != "" {
			fmt.Fprintf(&b, "      %s: %s\n", map[bool]string{true: "look again", false: "why"}[e.Flagged], printable(e.Why))
		}
	}
	one := func(i int, f schemas.Finding) {
		fmt.Fprintf(&b, "\n%d. %s / %s", i, f.Category, f.Subtype)
		if len(f.Also) > 0 {
			fmt.Fprintf(&b, ", also %s", strings.Join(f.Also, ", "))
		}
		if f.Element != "" {
			fmt.Fprintf(&b, ": %s", quoteOf(f.Element))
		}
		if rep.Samples > 1 {
			fmt.Fprintf(&b, " (%d of %d samples)", f.Support, f.Asked)
		}
		b.WriteByte('\n')
		if len(f.Contra.Spans) > 0 {
			side("first", "34", f.Fact)
		} else {
			side("here", "34", f.Fact)
		}
		side("later", "31", f.Contra)
		for _, s := range []string{f.Reasoning, f.Context} {
			if s != "" {
				fmt.Fprintf(&b, "   %s\n", printable(s))
			}
		}
	}
	i := 0
	for _, f := range rep.Findings {
		if f.Status == check.Anchored {
			i++
			one(i, f)
		}
	}
	if aside > 0 {
		fmt.Fprintf(&b, "\nIn quarantine, not counted (%d):\n", aside)
		for _, f := range rep.Findings {
			if f.Status != check.Anchored {
				i++
				one(i, f)
			}
		}
	}
	var notes []string
	for _, s := range rep.Status {
		if s.Status != "ok" && s.Status != "repaired" {
			notes = append(notes, fmt.Sprintf("%s could not be judged: %s (%s)", s.Category, s.Status, printable(s.Detail)))
		}
	}
	if len(rep.NotJudged) > 0 {
		notes = append(notes, fmt.Sprintf("not judged: %s: %s has no way to judge them; of the others the rules know a few attributes alone", strings.Join(rep.NotJudged, ", "), rep.Judge))
	}
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func contradictions(n int) string { return count(n, "contradiction", "contradictions") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printable is a text on one line, without control characters: stories and
// answers are untrusted.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func quoteOf(s string) string {
	const most = 220
	s = printable(s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}

func passageOf(e schemas.Evidence) string {
	var parts []string
	for _, s := range e.Spans {
		parts = append(parts, quoteOf(s.Text))
	}
	return strings.Join(parts, " … ")
}

// checkPages collects or writes the HTML of a run.
type checkPages struct {
	dest   string // a file, or a folder
	single bool
	title  string
	one    report.Reading
	left   int // stories for which there was no room on the one page
	tmp    string
	links  []report.Link
}

// mostOnPage is how many stories one page holds: each is there in full.
const mostOnPage = 40

func newCheckPages(dest, title string) (*checkPages, error) {
	ext := strings.ToLower(filepath.Ext(dest))
	p := &checkPages{dest: filepath.Clean(dest), single: ext == ".html" || ext == ".htm", title: title}
	if p.single {
		return p, nil
	}
	// The folder is replaced: it must be empty, not there, or hold pages alone.
	entries, err := os.ReadDir(p.dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, &fetch.Error{Op: "open", Name: p.dest, Kind: fetch.Disk, Err: err}
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".html" {
			return nil, withHint(exitUsage, "name another folder with --html, or a file that ends in .html",
				fmt.Errorf("%s holds %s, which is no page of this command", p.dest, e.Name()))
		}
	}
	return p, nil
}

// add takes a story's page in. Of a run, stories without findings have none.
func (p *checkPages) add(from checked, rep schemas.CheckReport) error {
	if p.single {
		if len(p.one.Texts) >= mostOnPage {
			p.left++
			return nil
		}
		p.one.Texts = append(p.one.Texts, remarked(from, rep))
		return nil
	}
	if p.tmp == "" {
		p.tmp = p.dest + ".new~"
		if err := os.RemoveAll(p.tmp); err != nil {
			return &fetch.Error{Op: "remove", Name: p.tmp, Kind: fetch.Disk, Err: err}
		}
		if err := os.MkdirAll(p.tmp, 0o755); err != nil {
			return &fetch.Error{Op: "create", Name: p.tmp, Kind: fetch.Disk, Err: err}
		}
	}
	if len(rep.Findings) == 0 {
		return nil
	}
	name := storyFile(rep.StoryID) + ".html"
	counted := 0
	for _, f := range rep.Findings {
		if f.Status == check.Anchored {
			counted++
		}
	}
	note := fmt.Sprintf("%s, %d in quarantine; %d words", count(counted, "finding", "findings"), len(rep.Findings)-counted, rep.Words)
	if rep.Model != "" {
		note += "; " + rep.Model
	}
	p.links = append(p.links, report.Link{Address: name, Text: rep.StoryID, Note: note})
	page := report.Reading{Title: p.title, Subtitle: judgeLine(rep), Texts: []report.Remarked{remarked(from, rep)}}
	return fetch.WriteFileAtomic(filepath.Join(p.tmp, name), 0o644, page.Write)
}

// finish puts the pages in place.
func (p *checkPages) finish(t *checkTally, skipped map[string]int) error {
	if p.single {
		p.one.Title = p.title
		p.one.Subtitle = fmt.Sprintf("judged by %s", t.judge)
		p.one.Tables = []*report.Table{t.table(skipped)}
		if p.left > 0 {
			p.one.Text = append(p.one.Text, fmt.Sprintf("The page shows the first %d stories; %d more were judged. A folder for --html has a page a story.", mostOnPage, p.left))
		}
		return fetch.WriteFileAtomic(p.dest, 0o644, p.one.Write)
	}
	if p.tmp == "" {
		return nil
	}
	index := report.Page{Title: p.title, Subtitle: fmt.Sprintf("judged by %s", t.judge),
		Sections: []report.Section{{Title: "By category", Tables: []*report.Table{t.table(skipped)}}, {Title: "Stories with findings", Links: p.links}}}
	if err := fetch.WriteFileAtomic(filepath.Join(p.tmp, "index.html"), 0o644, index.Write); err != nil {
		return err
	}
	if err := os.RemoveAll(p.dest); err != nil {
		return &fetch.Error{Op: "remove", Name: p.dest, Kind: fetch.Disk, Err: err}
	}
	if err := os.Rename(p.tmp, p.dest); err != nil {
		return &fetch.Error{Op: "rename", Name: p.tmp, Kind: fetch.Disk, Err: err}
	}
	p.tmp = ""
	return nil
}

func (p *checkPages) discard() {
	if p.tmp != "" {
		os.RemoveAll(p.tmp)
	}
}

func judgeLine(rep schemas.CheckReport) string {
	s := fmt.Sprintf("%s: %d words, judged by %s, protocol %s", rep.StoryID, rep.Words, rep.Judge, rep.Protocol)
	if rep.Model != "" {
		s += ", written by " + rep.Model
	}
	return s
}

// remarked makes the page's text of a report.
func remarked(from checked, rep schemas.CheckReport) report.Remarked {
	t := report.Remarked{Title: rep.StoryID, Text: from.Story}
	if rep.Title != "" && rep.Title != rep.StoryID {
		t.Title += ", " + rep.Title
	}
	for _, s := range rep.Status {
		if s.Status != "ok" {
			which := s.Category
			if rep.Samples > 1 {
				which += fmt.Sprintf(", sample %d", s.Sample)
			}
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s (%s)", which, s.Status, s.Detail))
		}
	}
	if len(rep.NotJudged) > 0 {
		t.Notes = append(t.Notes, "not judged: "+strings.Join(rep.NotJudged, ", "))
	}
	for _, f := range rep.Findings {
		m := report.Remark{Title: f.Subtype, Dim: f.Status != check.Anchored, Facets: []report.Facet{{Name: "category", Value: f.Category}, {Name: "class of the quotes", Value: pairClass(f)}, {Name: "status", Value: f.Status}}}
		if f.Element != "" {
			m.Title += ": " + f.Element
		}
		say := func(name, value string) {
			if value != "" {
				m.Lines = append(m.Lines, report.Facet{Name: name, Value: value})
			}
		}
		say("also", strings.Join(f.Also, ", "))
		for i, e := range []schemas.Evidence{f.Fact, f.Contra} {
			kind := []string{"earlier", "later"}[i]
			for _, s := range e.Spans {
				m.Places = append(m.Places, report.Place{Start: s.Start, End: s.End, Kind: kind})
			}
			switch {
			case len(e.Spans) > 0:
				if len(f.Contra.Spans) == 0 { // nothing that it would be earlier than
					say("here", passageOf(e))
				} else {
					say(kind, passageOf(e))
				}
				if e.Quote != "" && e.Class != string(text.ClassExact) {
					say("as quoted", quoteOf(e.Quote))
				}
			case e.Quote != "":
				say("not in the story", quoteOf(e.Quote))
			}
			if e.Why != "" {
				say(map[bool]string{true: "look again", false: "note"}[e.Flagged], e.Why)
			}
		}
		say("reasoning", f.Reasoning)
		say("why", f.Context)
		if rep.Samples > 1 {
			say("samples", fmt.Sprintf("%d of %d", f.Support, f.Asked))
		}
		t.Remarks = append(t.Remarks, m)
	}
	return t
}

// pairClass is the farther class of a finding's quotes.
func pairClass(f schemas.Finding) string {
	order := text.Classes()
	worst := -1
	for _, e := range []schemas.Evidence{f.Fact, f.Contra} {
		worst = max(worst, slices.Index(order, text.Class(e.Class)))
	}
	if worst < 0 {
		return "none"
	}
	return string(order[worst])
}
