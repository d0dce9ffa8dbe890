// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// Reading is a self-contained page of texts with remarks on them: each text in
// full with the places of its remarks highlighted, the remarks beside it, and
// switches that show some remarks alone. The one script it has is named by its
// hash in the page's policy; nothing comes from a network, and without the
// script everything shows.
type Reading struct {
	Title    string
	Subtitle string
	Text     []string // paragraphs
	Tables   []*Table
	Texts    []Remarked
}

// Remarked is a text with remarks.
type Remarked struct {
	Title   string
	Text    string
	Remarks []Remark
	Notes   []string
}

// Remark is something to be said about places of a text.
type Remark struct {
	Title string
	// Facets are what the switches go by, the same names in the same order in
	// every remark of a page: category, class, and so on.
	Facets []Facet
	Lines  []Facet // what is said, under names
	Places []Place
	Dim    bool // less sure than others
}

// Facet is a named value.
type Facet struct{ Name, Value string }

// Place is a half-open range of code points of the text. Kind is earlier or
// later; others are drawn like earlier.
type Place struct {
	Start, End int
	Kind       string
}

// Write writes the page.
func (r Reading) Write(w io.Writer) error {
	p := readingPage{Reading: r, Script: template.JS(readingScript), Hash: scriptHash}
	for n, t := range r.Texts {
		text := readingText{Remarked: t, ID: fmt.Sprintf("t%d", n+1)}
		for i, m := range t.Remarks {
			c := readingCard{Remark: m, ID: fmt.Sprintf("%s-%d", text.ID, i+1), Number: i + 1}
			for k, f := range m.Facets {
				c.Keys = append(c.Keys, p.key(k, f))
			}
			text.Cards = append(text.Cards, c)
		}
		text.Parts = segments(t, text.ID)
		p.Pages = append(p.Pages, text)
	}
	return readingTemplate.Execute(w, p)
}

type readingPage struct {
	Reading
	Script template.JS
	Hash   template.HTMLAttr
	Groups []facetGroup
	Pages  []readingText
}

type facetGroup struct {
	Name   string
	Values []facetValue
}

type facetValue struct {
	Value, Key string
	N          int
}

// key counts a value of the facet in place k and returns what the script knows
// it by.
func (p *readingPage) key(k int, f Facet) string {
	for len(p.Groups) <= k {
		p.Groups = append(p.Groups, facetGroup{})
	}
	g := &p.Groups[k]
	g.Name = f.Name
	i := slices.IndexFunc(g.Values, func(v facetValue) bool { return v.Value == f.Value })
	if i < 0 {
		i = len(g.Values)
		g.Values = append(g.Values, facetValue{Value: f.Value, Key: fmt.Sprintf("f%d-%d", k+1, i+1)})
	}
	g.Values[i].N++
	return g.Values[i].Key
}

type readingText struct {
	Remarked
	ID    string
	Cards []readingCard
	Parts []segment
}

type readingCard struct {
	Remark
	ID     string
	Number int
	Keys   []string
}

// KeyList is the card's keys for the script.
func (c readingCard) KeyList() string { return strings.Join(c.Keys, " ") }

// segment is a stretch of text in which the same places overlap.
type segment struct {
	Text  string
	Cards string // ids, blank between
	Kind  string
	First []string // anchors of remarks whose place begins here
}

// segments cuts a text at the ends of all places.
func segments(t Remarked, id string) []segment {
	runes := []rune(t.Text)
	cuts := []int{0, len(runes)}
	for _, r := range t.Remarks {
		for _, p := range r.Places {
			cuts = append(cuts, min(max(p.Start, 0), len(runes)), min(max(p.End, 0), len(runes)))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []segment
	for i := range len(cuts) - 1 {
		s := segment{Text: string(runes[cuts[i]:cuts[i+1]])}
		var cards, kinds []string
		for n, r := range t.Remarks {
			for k, p := range r.Places {
				if p.Start <= cuts[i] && cuts[i+1] <= p.End {
					card := fmt.Sprintf("%s-%d", id, n+1)
					if !slices.Contains(cards, card) {
						cards = append(cards, card)
					}
					if !slices.Contains(kinds, p.Kind) {
						kinds = append(kinds, p.Kind)
					}
					if p.Start == cuts[i] {
						s.First = append(s.First, fmt.Sprintf("%s-%d-%d", id, n+1, k+1))
					}
				}
			}
		}
		s.Cards, s.Kind = strings.Join(cards, " "), strings.Join(kinds, " ")
		out = append(out, s)
	}
	return out
}

// Anchor is the id of the k-th place of a card.
func (c readingCard) Anchor(k int) string { return fmt.Sprintf("%s-%d", c.ID, k+1) }

const readingScript = `
document.addEventListener("DOMContentLoaded", function () {
  var boxes = document.querySelectorAll("input[data-key]");
  function on(key) { var b = document.querySelector('input[data-key="' + key + '"]'); return !b || b.checked; }
  function show() {
    document.querySelectorAll(".card").forEach(function (c) {
      c.hidden = !c.dataset.keys.split(" ").every(on);
    });
    document.querySelectorAll("mark").forEach(function (m) {
      m.classList.toggle("off", m.dataset.cards.split(" ").every(function (id) { return document.getElementById(id).hidden; }));
    });
    var n = document.querySelectorAll(".card:not([hidden])").length;
    document.getElementById("shown").textContent = n + " shown";
  }
  function pick(id, scroll) {
    document.querySelectorAll(".picked").forEach(function (x) { x.classList.remove("picked"); });
    var card = document.getElementById(id);
    card.classList.add("picked");
    var first = null;
    document.querySelectorAll("mark").forEach(function (m) {
      if (m.dataset.cards.split(" ").indexOf(id) < 0) return;
      m.classList.add("picked");
      first = first || m;
    });
    if (scroll) card.scrollIntoView({block: "nearest"});
    else if (first) first.scrollIntoView({block: "nearest"});
  }
  boxes.forEach(function (b) { b.addEventListener("change", show); });
  document.querySelectorAll(".card").forEach(function (c) {
    c.addEventListener("click", function (e) { pick(c.id, e.target.tagName === "A"); });
  });
  document.querySelectorAll("mark").forEach(function (m) {
    m.addEventListener("click", function () {
      var ids = m.dataset.cards.split(" ").filter(function (id) { return !document.getElementById(id).hidden; });
      if (!ids.length) return;
      var at = ids.findIndex(function (id) { return document.getElementById(id).classList.contains("picked"); });
      pick(ids[(at + 1) % ids.length], true);
    });
  });
  show();
});
`

var scriptHash = func() template.HTMLAttr {
	sum := sha256.Sum256([]byte(readingScript))
	return template.HTMLAttr(`content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + `'"`)
}()

var readingTemplate = template.Must(template.New("reading").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" {{.Hash}}>
<title>{{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 84rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; font-size: 1.6rem; } .subtitle { color: #555; margin-top: .2rem; }
h2 { margin-top: 1.6rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; font-size: 1.2rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .6rem 0; font-size: .88rem; }
caption { text-align: left; font-weight: 600; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #eee; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
fieldset { border: 1px solid #ddd; border-radius: .4rem; display: inline-block; margin: 0 .6rem .6rem 0; padding: .2rem .7rem .4rem; vertical-align: top; }
legend { color: #555; font-size: .85rem; } label { margin-right: .8rem; white-space: nowrap; }
.pair { display: grid; grid-template-columns: minmax(0, 1.55fr) minmax(0, 1fr); gap: 1.2rem; }
.story { white-space: pre-wrap; font: 16px/1.65 Georgia, "Noto Serif CJK SC", serif; max-height: 85vh; overflow: auto; background: #fafafa; border: 1px solid #eee; border-radius: .4rem; padding: 1rem 1.2rem; }
.cards { max-height: 85vh; overflow: auto; }
.card { border: 1px solid #ddd; border-radius: .4rem; padding: .5rem .8rem; margin: 0 0 .6rem; cursor: pointer; }
.card h3 { margin: 0 0 .2rem; font-size: .95rem; } .card p { margin: .25rem 0; }
.card.dim { background: #f6f6f6; color: #555; } .card.picked { outline: 2px solid #444; }
.name { color: #666; font-size: .82rem; } .card a { color: inherit; }
mark { background: #cfe6ff; color: inherit; cursor: pointer; scroll-margin: 5rem; } mark.later { background: #ffd2c2; } mark.earlier.later { background: #e6d0f5; }
mark.picked { outline: 2px solid #444; } mark.off { background: none; outline: none; cursor: auto; }
.key { border-radius: .2rem; padding: 0 .3rem; } .key.earlier { background: #cfe6ff; } .key.later { background: #ffd2c2; }
.note { color: #555; font-size: .88rem; }
@media (max-width: 60rem) { .pair { grid-template-columns: 1fr; } .story, .cards { max-height: none; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="subtitle">{{.Subtitle}}</p>
{{range .Text}}<p>{{.}}</p>
{{end}}{{range $t := .Tables}}<div class="scroll"><table>
{{if .Title}}<caption>{{.Title}}</caption>
{{end}}<tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr>
{{range $r := .Rows}}<tr>{{range $i, $c := $t.Cells $r}}<td{{if $t.Numeric $r $i}} class="n"{{end}}>{{$c}}</td>{{end}}</tr>
{{end}}</table></div>
{{range .Notes}}<p class="note">{{.}}</p>
{{end}}{{end}}<p><span class="key earlier">earlier passage</span> <span class="key later">later passage</span> <span id="shown" class="note"></span></p>
<form autocomplete="off">{{range .Groups}}<fieldset><legend>{{.Name}}</legend>{{range .Values}}<label><input type="checkbox" checked data-key="{{.Key}}"> {{.Value}} ({{.N}})</label>{{end}}</fieldset>{{end}}</form>
{{range .Pages}}<section>
<h2>{{.Title}}</h2>
{{range .Notes}}<p class="note">{{.}}</p>
{{end}}<div class="pair">
<div class="story">{{range .Parts}}{{if .Cards}}{{range .First}}<a id="{{.}}"></a>{{end}}<mark class="{{.Kind}}" data-cards="{{.Cards}}">{{.Text}}</mark>{{else}}{{.Text}}{{end}}{{end}}</div>
<div class="cards">{{range $c := .Cards}}<article class="card{{if .Dim}} dim{{end}}" id="{{.ID}}" data-keys="{{.KeyList}}">
<h3>{{.Number}}. {{.Title}}</h3>
<p class="name">{{range $i, $f := .Facets}}{{if $i}} · {{end}}{{$f.Value}}{{end}}{{range $k, $p := .Places}} · <a href="#{{$c.Anchor $k}}">{{$p.Kind}}</a>{{end}}</p>
{{range .Lines}}<p><span class="name">{{.Name}}</span> {{.Value}}</p>
{{end}}</article>
{{else}}<p class="note">Nothing was found.</p>
{{end}}</div>
</div>
</section>
{{end}}<script>{{.Script}}</script>
</body>
</html>
`))
