// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// version writes a release of the given rows by config/split.
func version(t *testing.T, v, compression string, rows map[string][]schemas.Example) *Release {
	t.Helper()
	m := testManifest(t)
	m.Version, m.Recipe.Version, m.Recipe.Release.Compression = v, v, compression
	m.RecipeHash, _ = RecipeHash(m.Recipe)
	var tables []Table
	for _, at := range []string{"flawed_fictions/test", "flawed_fictions_long/test", "flawed_fictions_long/test_hidden", "few_shot/train"} {
		config, split, _ := strings.Cut(at, "/")
		list := slices.Clone(rows[at])
		if list == nil && split != splits.Test {
			continue
		}
		for i := range list {
			list[i].DatasetVersion, list[i].Split = v, split
		}
		tables = append(tables, table(config, split, list))
	}
	dir := filepath.Join(t.TempDir(), "r")
	if _, err := Write(context.Background(), dir, m, tables, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDiff(t *testing.T) {
	base := func() map[string][]schemas.Example {
		return map[string][]schemas.Example{"flawed_fictions/test": pairs(0, 5, splits.Test), "few_shot/train": pairs(8, 9, splits.Train)}
	}
	a := version(t, "1.2.3", "zstd", base())
	first := func(rows []schemas.Example, label string) int {
		return slices.IndexFunc(rows, func(e schemas.Example) bool { return e.Label == label })
	}
	for _, c := range []struct {
		name        string
		version     string
		compression string
		change      func(m map[string][]schemas.Example)
		bump        string
		required    string
		enough      bool
		check       func(d *Diff) bool
		says        string
	}{
		{"C61: another encoding", "1.2.4", "snappy", func(map[string][]schemas.Example) {}, BumpPatch, "1.2.4", true,
			func(d *Diff) bool { return len(d.Added)+len(d.Removed)+len(d.Edited)+len(d.Moved) == 0 }, "serialised anew"},
		{"C61: rows in a new split", "1.3.0", "zstd", func(m map[string][]schemas.Example) {
			m["flawed_fictions_long/test_hidden"] = pairs(20, 23, splits.Hidden)
		}, BumpMinor, "1.3.0", true,
			func(d *Diff) bool { return len(d.Added) == 6 && len(d.Edited) == 0 }, "6 added (0 rows before, 6 after)"},
		{"C61: one story edited", "1.3.0", "zstd", func(m map[string][]schemas.Example) {
			l := m["flawed_fictions/test"]
			l[first(l, schemas.LabelError)].Title = "Another title"
		}, BumpMajor, "2.0.0", false, func(d *Diff) bool {
			return len(d.Edited) == 1 && slices.Equal(d.Edited[0].Columns, []string{"title"}) && len(d.Spans) == 0
		}, "1 edited"},
		{"a span moved", "2.0.0", "zstd", func(m map[string][]schemas.Example) {
			l := m["flawed_fictions/test"]
			e := &l[first(l, schemas.LabelError)]
			e.ContradictedSpans = slices.Clone(e.ContradictedSpans)
			e.ContradictedSpans = append(e.ContradictedSpans, spanOf(*e, 1))
			e.ContradictedLines = splits.ListItems(e.ContradictedSpans)
		}, BumpMajor, "2.0.0", true, func(d *Diff) bool { return len(d.Spans) == 1 && len(d.Labels) == 0 }, "1 with moved spans"},
		{"a licence changed", "2.0.0", "zstd", func(m map[string][]schemas.Example) { m["flawed_fictions/test"][0].Source.Licence = "MIT" }, BumpMajor, "2.0.0", true,
			func(d *Diff) bool { return len(d.Licences) == 1 }, "changed source or licence"},
		{"a row removed", "1.9.0", "zstd", func(m map[string][]schemas.Example) { m["flawed_fictions/test"] = m["flawed_fictions/test"][1:] }, BumpMajor, "2.0.0", false,
			func(d *Diff) bool { return len(d.Removed) == 1 && len(d.Edited) == 0 }, "1 removed"},
		{"rows moved to another config", "2.1.0", "zstd", func(m map[string][]schemas.Example) {
			m["flawed_fictions_long/test"] = m["flawed_fictions/test"][:2]
			m["flawed_fictions/test"] = m["flawed_fictions/test"][2:]
		}, BumpMajor, "2.0.0", true, func(d *Diff) bool {
			return len(d.Moved) == 2 && len(d.Added)+len(d.Removed)+len(d.Edited) == 0 && d.Moved[0].To == "flawed_fictions_long/test"
		}, "2 moved"},
		{"nothing", "1.2.3", "zstd", func(map[string][]schemas.Example) {}, BumpNone, "1.2.3", true, func(d *Diff) bool { return true }, "Nothing changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := base()
			c.change(rows)
			d, err := Compare(context.Background(), a, version(t, c.version, c.compression, rows))
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := d.Write(&text); err != nil {
				t.Fatal(err)
			}
			js, err := json.Marshal(d)
			if d.Bump != c.bump || d.Required != c.required || d.Enough != c.enough || !c.check(d) || err != nil {
				t.Errorf("%s %v\n%s", js, err, &text)
			}
			if !strings.Contains(d.Changelog, c.says) || !strings.Contains(d.Changelog, "## "+c.version) {
				t.Errorf("changelog lacks %q:\n%s", c.says, d.Changelog)
			}
		})
	}
}

func spanOf(e schemas.Example, sentence int) schemas.Span {
	b := e.Sentences[sentence]
	before, text := string([]rune(e.Story)[:b.Start]), string([]rune(e.Story)[b.Start:b.End])
	units := func(s string) (n int) {
		for _, r := range s {
			if n++; r > 0xffff {
				n++
			}
		}
		return n
	}
	o := schemas.Offsets{Start: b.Start, End: b.End, ByteStart: len(before), ByteEnd: len(before) + len(text), UTF16Start: units(before)}
	o.UTF16End = o.UTF16Start + units(text)
	return schemas.Span{Offsets: o, Sentence: sentence, Text: text}
}

// A label that flips and a row that moves to another split of its config.
func TestDiffLabelsAndSplits(t *testing.T) {
	was, is := row(3, schemas.VariantPatched, splits.Test), row(3, schemas.VariantPatched, splits.Test)
	kind := schemas.VariantPatched
	is.Label, is.ContError, is.ErrorSpans, is.ContradictedSpans, is.NegativeKind = schemas.LabelConsistent, 0, []schemas.Span{}, []schemas.Span{}, &kind
	is.ContErrorExpl, is.ContErrorLines, is.ContradictedLines = "NA", "NA", "NA"
	a := version(t, "0.1.0", "zstd", map[string][]schemas.Example{"flawed_fictions/test": {was}, "flawed_fictions_long/test": pairs(4, 5, splits.Test)})
	b := version(t, "1.0.0", "zstd", map[string][]schemas.Example{"flawed_fictions/test": {is}, "flawed_fictions_long/test_hidden": pairs(4, 5, splits.Hidden)})
	d, err := Compare(context.Background(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Labels) != 1 || len(d.Spans) != 1 || len(d.Edited) != 1 || len(d.Moved) != 2 || d.Bump != BumpMajor || !d.Enough {
		t.Errorf("%+v", d)
	}
}
