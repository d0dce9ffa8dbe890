// SPDX-License-Identifier: Apache-2.0

// Package report answers: how does it look? It draws tables for terminals,
// Markdown, CSV and JSON, plots as SVG, and self-contained HTML pages. It
// computes nothing.
package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Table is a title, columns and rows of cells. A cell is a string, an int, a
// float64 (four decimals; NaN is "n/a", JSON null) or nil (empty, JSON null).
type Table struct {
	Title   string
	Columns []string
	Rows    [][]any
	Notes   []string
}

// Add appends a row.
func (t *Table) Add(cells ...any) { t.Rows = append(t.Rows, cells) }

// Formats of [Table.Write].
const (
	Text     = "text"
	Markdown = "markdown"
	CSV      = "csv"
	JSON     = "json"
)

// Write writes the table in a format.
func (t *Table) Write(w io.Writer, format string) error {
	switch format {
	case Text, "":
		return t.writeText(w)
	case Markdown:
		return t.writeMarkdown(w)
	case CSV:
		return t.writeCSV(w)
	case JSON:
		return t.writeJSON(w)
	}
	return fmt.Errorf("table format %q: want text, markdown, csv or json", format)
}

// cell is a value's text. Control characters in strings, which may be
// untrusted, do not reach a terminal.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		if math.IsNaN(v) {
			return "n/a"
		}
		return strconv.FormatFloat(v, 'f', 4, 64)
	case string:
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				return ' '
			}
			return r
		}, v)
	}
	return fmt.Sprint(v)
}

func number(v any) bool {
	switch v.(type) {
	case int, int64, float64:
		return true
	}
	return false
}

func (t *Table) writeText(w io.Writer) error {
	width := make([]int, len(t.Columns))
	right := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		width[i] = runewidth.StringWidth(c)
		right[i] = len(t.Rows) > 0
	}
	for _, r := range t.Rows {
		for i, v := range r {
			width[i] = max(width[i], runewidth.StringWidth(cell(v)))
			right[i] = right[i] && (v == nil || number(v))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	line := func(cells []string) {
		var l strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-runewidth.StringWidth(c))
			if i > 0 {
				l.WriteString("  ")
			}
			if right[i] {
				l.WriteString(pad + c)
			} else {
				l.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(t.Columns)
	for _, r := range t.Rows {
		line(texts(r))
	}
	for _, n := range t.Notes {
		b.WriteString(cell(n) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func texts(r []any) []string {
	out := make([]string, len(r))
	for i, v := range r {
		out[i] = cell(v)
	}
	return out
}

func (t *Table) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", t.Title)
	}
	esc := strings.NewReplacer("|", `\|`)
	b.WriteString("| " + strings.Join(t.Columns, " | ") + " |\n|")
	for i := range t.Columns {
		if len(t.Rows) > 0 && number(t.Rows[0][i]) {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, r := range t.Rows {
		b.WriteString("|")
		for _, c := range texts(r) {
			b.WriteString(" " + esc.Replace(c) + " |")
		}
		b.WriteByte('\n')
	}
	for _, n := range t.Notes {
		b.WriteString("\n" + n + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) writeCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	if err := cw.Write(t.Columns); err != nil {
		return err
	}
	for _, r := range t.Rows {
		if err := cw.Write(texts(r)); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// writeJSON writes a list of objects, keys in column order.
func (t *Table) writeJSON(w io.Writer) error {
	var b strings.Builder
	b.WriteString("[")
	for i, r := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  {")
		for j, v := range r {
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				v = nil
			}
			js, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q: %s", t.Columns[j], js)
		}
		b.WriteString("}")
	}
	b.WriteString("\n]\n")
	_, err := io.WriteString(w, b.String())
	return err
}
