// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/retcon-bench/retcon/internal/report"
)

// Bumps of a version, by SemVer of data: PATCH is the same rows serialised
// anew, MINOR added rows alone, MAJOR rows edited, removed or moved.
const (
	BumpNone  = "none" // nothing differs
	BumpPatch = "patch"
	BumpMinor = "minor"
	BumpMajor = "major"
)

// RowRef is a row of a config.
type RowRef struct {
	Config string `json:"config"`
	Split  string `json:"split"`
	ID     string `json:"id"`
}

// RowEdit is a row whose content differs, with the columns in which it does.
type RowEdit struct {
	RowRef
	Columns []string `json:"columns"`
}

// RowMove is a row that stands elsewhere: in another split of its config, or in
// another config.
type RowMove struct {
	ID   string `json:"id"`
	From string `json:"from"` // config/split
	To   string `json:"to"`
}

// ConfigDiff counts the changes of one config.
type ConfigDiff struct {
	Config   string `json:"config"`
	Before   int    `json:"before"`
	After    int    `json:"after"`
	Added    int    `json:"added"`
	Removed  int    `json:"removed"`
	Edited   int    `json:"edited"`
	Moved    int    `json:"moved"` // out of this config or between its splits
	Spans    int    `json:"spans_moved"`
	Labels   int    `json:"labels_flipped"`
	Licences int    `json:"licences_changed"`
}

// Diff is what [Compare] finds between two releases. Lists are in order of
// config and id.
type Diff struct {
	A         string       `json:"a"` // name@version
	B         string       `json:"b"`
	Date      string       `json:"date"` // of B
	Configs   []ConfigDiff `json:"configs"`
	Added     []RowRef     `json:"added"`
	Removed   []RowRef     `json:"removed"`
	Edited    []RowEdit    `json:"edited"`
	Moved     []RowMove    `json:"moved"`
	Spans     []RowRef     `json:"spans_moved"`      // of Edited: gold or edit spans differ
	Labels    []RowRef     `json:"labels_flipped"`   // of Edited
	Licences  []RowRef     `json:"licences_changed"` // of Edited
	Hidden    HiddenDiff   `json:"hidden"`
	Bump      string       `json:"bump"`
	Required  string       `json:"required"` // the least version that B may have; empty for another data set
	Enough    bool         `json:"enough"`   // B has it
	Remarks   []string     `json:"remarks"`
	Changelog string       `json:"changelog"` // a section in Markdown
}

// HiddenDiff counts commitments to hidden rows.
type HiddenDiff struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"` // another hash: another row, or another salt
}

// rowFacts is what Compare keeps of a row: a hash a column.
type rowFacts struct {
	split   string
	columns []uint64
}

type rowKey struct{ config, id string }

// index reads a release into facts by config and id.
func index(ctx context.Context, r *Release) (map[rowKey]rowFacts, map[string][]string, error) {
	facts, columns := map[rowKey]rowFacts{}, map[string][]string{}
	for _, c := range r.Manifest.Configs {
		if sideSchema(c.Schema) {
			continue // it follows from the rows of the others
		}
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: config %s: %w", r.ID(), c.Name, err)
		}
		var names []string
		for _, f := range l.root {
			names = append(names, f.name)
		}
		columns[c.Name] = names
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		for _, s := range c.Splits {
			for _, f := range s.Files {
				for v, err := range readRecords(filepath.Join(r.Dir, filepath.FromSlash(f.Path)), l, recordTypes[c.Schema]) {
					if err == nil {
						err = ctx.Err()
					}
					if err != nil {
						return nil, nil, fmt.Errorf("%s: %w", r.ID(), err)
					}
					row := rowFacts{split: s.Name, columns: make([]uint64, len(l.root))}
					for i, f := range l.root {
						buf.Reset()
						if err := enc.Encode(v.FieldByIndex(f.index).Interface()); err != nil {
							return nil, nil, err
						}
						row.columns[i] = xxh3.Hash(buf.Bytes())
					}
					facts[rowKey{c.Name, rowID(l, v)}] = row
				}
			}
		}
	}
	return facts, columns, nil
}

// rowID is a record's id: its first column that is called so.
func rowID(l *layout, v reflect.Value) string {
	for _, f := range l.root {
		if strings.HasSuffix(f.name, "_id") || f.name == "id" {
			return fmt.Sprint(v.FieldByIndex(f.index).Interface())
		}
	}
	return ""
}

// Compare finds what changed from release a to b: row by row, by id, without
// what only says when and by what a row was made.
func Compare(ctx context.Context, a, b *Release) (*Diff, error) {
	before, columns, err := index(ctx, a)
	if err != nil {
		return nil, err
	}
	after, columnsAfter, err := index(ctx, b)
	if err != nil {
		return nil, err
	}
	d := &Diff{A: a.ID(), B: b.ID(), Date: b.Manifest.Date, Added: []RowRef{}, Removed: []RowRef{}, Edited: []RowEdit{}, Moved: []RowMove{},
		Spans: []RowRef{}, Labels: []RowRef{}, Licences: []RowRef{}, Remarks: []string{}}
	counts := d.configs(a, b, before, after)

	gone, came := map[string][]rowKey{}, map[string][]rowKey{} // by id
	for _, k := range keysOf(before) {
		was := before[k]
		is, ok := after[k]
		if !ok {
			gone[k.id] = append(gone[k.id], k)
			continue
		}
		if was.split != is.split {
			d.Moved = append(d.Moved, RowMove{k.id, k.config + "/" + was.split, k.config + "/" + is.split})
			counts[k.config].Moved++
		}
		d.edit(counts[k.config], k, is.split, changed(columns[k.config], columnsAfter[k.config], was, is))
	}
	for _, k := range keysOf(after) {
		if _, ok := before[k]; !ok {
			came[k.id] = append(came[k.id], k)
		}
	}
	for _, k := range keysOf(before) {
		if _, ok := after[k]; ok {
			continue
		}
		// A row that left one config and came to another has moved.
		if to := came[k.id]; len(to) > 0 {
			came[k.id] = to[1:]
			is := after[to[0]]
			d.Moved = append(d.Moved, RowMove{k.id, k.config + "/" + before[k].split, to[0].config + "/" + is.split})
			counts[k.config].Moved++
			d.edit(counts[to[0].config], to[0], is.split, changed(columns[k.config], columnsAfter[to[0].config], before[k], is))
			continue
		}
		d.Removed = append(d.Removed, RowRef{k.config, before[k].split, k.id})
		counts[k.config].Removed++
	}
	for _, k := range keysOf(after) {
		if slices.Contains(came[k.id], k) {
			d.Added = append(d.Added, RowRef{k.config, after[k].split, k.id})
			counts[k.config].Added++
		}
	}
	for i := range d.Configs {
		d.Configs[i] = *counts[d.Configs[i].Config]
	}
	d.hidden(a, b)
	d.version(a, b)
	d.remarks(a, b)
	d.Changelog = d.changelog(b)
	return d, nil
}

func keysOf(m map[rowKey]rowFacts) []rowKey {
	keys := make([]rowKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y rowKey) int { return cmp.Or(strings.Compare(x.config, y.config), strings.Compare(x.id, y.id)) })
	return keys
}

// configs lists the configs of both, B's order first, with their sizes.
func (d *Diff) configs(a, b *Release, before, after map[rowKey]rowFacts) map[string]*ConfigDiff {
	counts := map[string]*ConfigDiff{}
	for _, r := range []*Release{b, a} {
		for _, c := range r.Manifest.Configs {
			if counts[c.Name] == nil && !sideSchema(c.Schema) {
				counts[c.Name] = &ConfigDiff{Config: c.Name}
				d.Configs = append(d.Configs, ConfigDiff{Config: c.Name})
			}
		}
	}
	for k := range before {
		counts[k.config].Before++
	}
	for k := range after {
		counts[k.config].After++
	}
	return counts
}

// changed names the columns in which a row differs.
func changed(namesA, namesB []string, a, b rowFacts) []string {
	was := map[string]uint64{}
	for i, n := range namesA {
		was[n] = a.columns[i]
	}
	var out []string
	for i, n := range namesB {
		if h, ok := was[n]; (!ok || h != b.columns[i]) && !notInDigest[n] && n != "split" {
			out = append(out, n)
		}
		delete(was, n)
	}
	for _, n := range namesA {
		if _, lost := was[n]; lost && !notInDigest[n] {
			out = append(out, n)
		}
	}
	return out
}

func (d *Diff) edit(c *ConfigDiff, k rowKey, split string, columns []string) {
	if len(columns) == 0 {
		return
	}
	ref := RowRef{k.config, split, k.id}
	d.Edited = append(d.Edited, RowEdit{ref, columns})
	c.Edited++
	for _, kind := range []struct {
		list    *[]RowRef
		n       *int
		columns []string
	}{
		{&d.Spans, &c.Spans, []string{"error_spans", "contradicted_spans", "edits"}},
		{&d.Labels, &c.Labels, []string{"label"}},
		{&d.Licences, &c.Licences, []string{"source"}},
	} {
		if slices.ContainsFunc(kind.columns, func(n string) bool { return slices.Contains(columns, n) }) {
			*kind.list = append(*kind.list, ref)
			*kind.n++
		}
	}
}

func (d *Diff) hidden(a, b *Release) {
	was := map[rowKey]string{}
	for _, c := range a.Manifest.Hidden {
		was[rowKey{c.Config, c.ExampleID}] = c.SHA256
	}
	for _, c := range b.Manifest.Hidden {
		k := rowKey{c.Config, c.ExampleID}
		switch h, ok := was[k]; {
		case !ok:
			d.Hidden.Added++
		case h != c.SHA256:
			d.Hidden.Changed++
		}
		delete(was, k)
	}
	d.Hidden.Removed = len(was)
}

// version says which version follows from the changes.
func (d *Diff) version(a, b *Release) {
	switch {
	case len(d.Edited)+len(d.Removed)+len(d.Moved)+d.Hidden.Removed+d.Hidden.Changed > 0:
		d.Bump = BumpMajor
	case len(d.Added)+d.Hidden.Added > 0:
		d.Bump = BumpMinor
	case !slices.Equal(a.Manifest.Files, b.Manifest.Files) || a.Manifest.Version != b.Manifest.Version:
		d.Bump = BumpPatch
	default:
		d.Bump = BumpNone
	}
	if a.Manifest.Name != b.Manifest.Name {
		d.Enough = true
		return
	}
	d.Required = bumped(a.Manifest.Version, d.Bump)
	d.Enough = compareVersions(b.Manifest.Version, d.Required) >= 0
}

func (d *Diff) remarks(a, b *Release) {
	say := func(format string, args ...any) { d.Remarks = append(d.Remarks, fmt.Sprintf(format, args...)) }
	if a.Manifest.Name != b.Manifest.Name {
		say("two data sets, %s and %s: no version follows", a.Manifest.Name, b.Manifest.Name)
	}
	if a.Manifest.Canary == b.Manifest.Canary && d.Bump != BumpNone {
		say("both have the canary %s; every release needs its own", a.Manifest.Canary)
	}
	if a.Manifest.RecipeHash != b.Manifest.RecipeHash {
		say("made by different recipes")
	}
	if d.Hidden != (HiddenDiff{}) {
		say("hidden rows: %d added, %d removed, %d changed", d.Hidden.Added, d.Hidden.Removed, d.Hidden.Changed)
	}
}

func numbers(version string) (n [3]int, pre string) {
	core, pre, _ := strings.Cut(version, "-")
	for i, p := range strings.SplitN(core, ".", 3) {
		n[i], _ = strconv.Atoi(p)
	}
	return n, pre
}

func bumped(version, bump string) string {
	n, _ := numbers(version)
	switch bump {
	case BumpMajor:
		n = [3]int{n[0] + 1, 0, 0}
	case BumpMinor:
		n = [3]int{n[0], n[1] + 1, 0}
	case BumpPatch:
		n[2]++
	default:
		return version
	}
	return fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2])
}

// compareVersions orders by SemVer as far as releases use it: a version with a
// suffix comes before the one without.
func compareVersions(a, b string) int {
	x, px := numbers(a)
	y, py := numbers(b)
	for i := range x {
		if c := cmp.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	switch {
	case px == py:
		return 0
	case px == "":
		return 1
	case py == "":
		return -1
	}
	return strings.Compare(px, py)
}

// changelog is the section of a change log that follows from the changes.
func (d *Diff) changelog(b *Release) string {
	var s strings.Builder
	fmt.Fprintf(&s, "## %s (%s)\n\n", b.Manifest.Version, b.Manifest.Date)
	verdict := "Nothing changed."
	switch d.Bump {
	case BumpMajor:
		verdict = "Major: rows were edited, removed or moved; scores are not comparable with those of " + d.A + "."
	case BumpMinor:
		verdict = "Minor: rows were added, all others are as in " + d.A + "."
	case BumpPatch:
		verdict = "Patch: the same rows as in " + d.A + ", serialised anew."
	}
	s.WriteString(verdict + "\n")
	for _, c := range d.Configs {
		var parts []string
		for _, p := range []struct {
			n    int
			what string
		}{{c.Added, "added"}, {c.Removed, "removed"}, {c.Edited, "edited"}, {c.Moved, "moved"}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
			}
		}
		var among []string
		for _, p := range []struct {
			n    int
			what string
		}{{c.Labels, "labels flipped"}, {c.Spans, "with moved spans"}, {c.Licences, "with changed source or licence"}} {
			if p.n > 0 {
				among = append(among, fmt.Sprintf("%d %s", p.n, p.what))
			}
		}
		if len(parts) == 0 {
			continue
		}
		line := fmt.Sprintf("- `%s`: %s (%d rows before, %d after)", c.Config, strings.Join(parts, ", "), c.Before, c.After)
		if len(among) > 0 {
			line += "; of the edited, " + strings.Join(among, ", ")
		}
		s.WriteString("\n" + line)
	}
	if d.Hidden != (HiddenDiff{}) {
		fmt.Fprintf(&s, "\n- hidden rows: %d added, %d removed, %d changed", d.Hidden.Added, d.Hidden.Removed, d.Hidden.Changed)
	}
	return strings.TrimRight(s.String(), "\n") + "\n"
}

// shown is how many rows of a kind the text for people lists.
const shown = 10

// Write writes the diff for people: counts by config, the version that
// follows, and the first rows of each kind.
func (d *Diff) Write(w io.Writer) error {
	t := &report.Table{Title: d.A + " -> " + d.B, Columns: []string{"config", "before", "after", "added", "removed", "edited", "moved", "labels", "spans", "source"}}
	for _, c := range d.Configs {
		t.Add(c.Config, c.Before, c.After, c.Added, c.Removed, c.Edited, c.Moved, c.Labels, c.Spans, c.Licences)
	}
	if err := t.Write(w, report.Text); err != nil {
		return err
	}
	var b strings.Builder
	list := func(title string, n int, at func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s (%d)\n", title, n)
		for i := range min(n, shown) {
			b.WriteString("  " + at(i) + "\n")
		}
		if n > shown {
			fmt.Fprintf(&b, "  and %d more (--json lists all)\n", n-shown)
		}
	}
	ref := func(l []RowRef) func(int) string {
		return func(i int) string { return l[i].ID + "  " + l[i].Config + "/" + l[i].Split }
	}
	list("labels flipped", len(d.Labels), ref(d.Labels))
	list("spans moved", len(d.Spans), ref(d.Spans))
	list("source or licence changed", len(d.Licences), ref(d.Licences))
	list("edited", len(d.Edited), func(i int) string {
		e := d.Edited[i]
		return e.ID + "  " + e.Config + "/" + e.Split + "  in " + strings.Join(e.Columns, ", ")
	})
	list("moved", len(d.Moved), func(i int) string { return d.Moved[i].ID + "  " + d.Moved[i].From + " -> " + d.Moved[i].To })
	list("removed", len(d.Removed), ref(d.Removed))
	list("added", len(d.Added), ref(d.Added))
	for _, r := range d.Remarks {
		b.WriteString("\nnote: " + r + "\n")
	}
	switch {
	case d.Required == "":
		fmt.Fprintf(&b, "\nchange: %s\n", d.Bump)
	case d.Enough:
		fmt.Fprintf(&b, "\nchange: %s; at least version %s, and it has %s\n", d.Bump, d.Required, d.B[strings.LastIndexByte(d.B, '@')+1:])
	default:
		fmt.Fprintf(&b, "\nchange: %s; at least version %s is needed, but it has %s\n", d.Bump, d.Required, d.B[strings.LastIndexByte(d.B, '@')+1:])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
