// SPDX-License-Identifier: Apache-2.0

package report

import (
	"html/template"
	"io"
)

// Page is a self-contained HTML page: no script, no network. Everything in it
// is escaped but the drawings, which escape their own text.
type Page struct {
	Title    string
	Subtitle string
	Sections []Section
}

// Section is a heading with what stands under it, in this order.
type Section struct {
	Title    string
	Text     []string // paragraphs
	Figures  []SVG
	Tables   []*Table
	Passages []Passage
	Links    []Link
}

// Link is a line of a list of pages beside this one.
type Link struct {
	Address string // relative
	Text    string
	Note    string
}

// Passage is a text with stretches highlighted.
type Passage struct {
	Title string
	Parts []Part
	Notes []string
}

// Part is a stretch of a passage; Kind "" is plain, others are CSS classes:
// error, contradicted, edit.
type Part struct {
	Text string
	Kind string
}

// Write writes the page.
func (p Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// Cells are a row's texts, for the template.
func (t *Table) Cells(r []any) []string { return texts(r) }

// Numeric reports whether a cell is drawn to the right.
func (t *Table) Numeric(r []any, i int) bool { return number(r[i]) }

// NumericColumn reports whether all cells of a column are drawn to the right.
func (t *Table) NumericColumn(i int) bool {
	for _, r := range t.Rows {
		if !t.Numeric(r, i) && r[i] != nil {
			return false
		}
	}
	return len(t.Rows) > 0
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg":     func(s SVG) template.HTML { return template.HTML(s) }, // made by this package alone
	"caption": func(s SVG) template.HTML { return template.HTML(s.title()) },
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } .subtitle { color: #555; margin-top: .2rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #eee; vertical-align: top; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; max-width: 46rem; display: block; margin: .6rem 0; }
.passage { white-space: pre-wrap; font-family: Georgia, serif; background: #fafafa; border: 1px solid #eee; border-radius: .4rem; padding: 1rem; max-height: 26rem; overflow: auto; }
mark.error { background: #ffd2c2; } mark.contradicted { background: #cfe6ff; } mark.edit { background: #ffd2c2; text-decoration: underline; }
figure { margin: 1rem 0; } figcaption { color: #333; font-size: .9rem; }
.note { color: #555; font-size: .9rem; }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="subtitle">{{.Subtitle}}</p>
{{range .Sections}}<section>
<h2>{{.Title}}</h2>
{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Figures}}<figure>{{svg .}}<figcaption>{{caption .}}</figcaption></figure>
{{end}}{{range $t := .Tables}}<div class="scroll"><table>
{{if .Title}}<caption>{{.Title}}</caption>
{{end}}<tr>{{range $i, $c := .Columns}}<th{{if $t.NumericColumn $i}} class="n"{{end}}>{{$c}}</th>{{end}}</tr>
{{range $r := .Rows}}<tr>{{range $i, $c := $t.Cells $r}}<td{{if $t.Numeric $r $i}} class="n"{{end}}>{{$c}}</td>{{end}}</tr>
{{end}}</table></div>
{{range .Notes}}<p class="note">{{.}}</p>
{{end}}{{end}}{{range .Passages}}<h3>{{.Title}}</h3>
<div class="passage">{{range .Parts}}{{if .Kind}}<mark class="{{.Kind}}">{{.Text}}</mark>{{else}}{{.Text}}{{end}}{{end}}</div>
{{range .Notes}}<p class="note">{{.}}</p>
{{end}}{{end}}{{if .Links}}<ul>{{range .Links}}
<li><a href="{{.Address}}">{{.Text}}</a> <span class="note">{{.Note}}</span></li>{{end}}
</ul>
{{end}}</section>
{{end}}</body>
</html>
`))
