// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SVG is a drawing as markup that can stand in a page or a file of its own.
// All text in it is escaped.
type SVG string

// title is the drawing's title, escaped as it stands in it.
func (s SVG) title() string {
	_, rest, _ := strings.Cut(string(s), "<title>")
	t, _, _ := strings.Cut(rest, "</title>")
	return t
}

// palette is a colour-blind safe sequence (Okabe and Ito).
var palette = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}

const (
	chartWidth = 720
	labelWidth = 210
	labelRunes = 30 // of 12 px fit into it
	rowHeight  = 26
)

type canvas struct {
	strings.Builder
}

func (c *canvas) open(width, height int, title string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="system-ui, sans-serif" font-size="12"><title>%s</title>`,
		width, height, html.EscapeString(title))
}

func (c *canvas) close() SVG {
	c.WriteString("</svg>")
	return SVG(c.String())
}

func (c *canvas) text(x, y float64, anchor, fill, s string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" text-anchor="%s" fill="%s">%s</text>`, num(x), num(y), anchor, fill, html.EscapeString(cell(s)))
}

func (c *canvas) line(x1, y1, x2, y2 float64, stroke string, width float64) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="%s"/>`, num(x1), num(y1), num(x2), num(y2), stroke, num(width))
}

// num writes a coordinate with two decimals, the same everywhere.
func num(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) }

// Bar is one bar of [Bars]. Low and High draw an interval when they differ
// and are numbers.
type Bar struct {
	Label     string
	Value     float64
	Low, High float64
	Group     string // bars of one group share a colour
	// Pale makes the colour lighter, from 0 (full) to 1: for the order within a
	// group.
	Pale float64
}

// Bars draws horizontal bars from 0 to top; top 0 means the largest value.
func Bars(title string, bars []Bar, top float64) SVG {
	var c canvas
	if top == 0 {
		for _, b := range bars {
			top = math.Max(top, math.Max(finite(b.Value), finite(b.High)))
		}
		top = axisTop(top)
	}
	height := 40 + rowHeight*len(bars)
	c.open(chartWidth, height, title)
	x := func(v float64) float64 {
		return labelWidth + (chartWidth-labelWidth-60)*math.Min(math.Max(v/top, 0), 1)
	}
	for i := 0; i <= 4; i++ {
		v := top * float64(i) / 4
		c.line(x(v), 8, x(v), float64(height-24), "#ddd", 1)
		c.text(x(v), float64(height-8), "middle", "#555", label(v))
	}
	groups := groupsOf(bars, func(b Bar) string { return b.Group })
	for i, b := range bars {
		y := 12 + float64(rowHeight*i)
		c.text(labelWidth-8, y+14, "end", "#111", clipLabel(b.Label, labelRunes))
		if math.IsNaN(b.Value) {
			c.text(labelWidth+4, y+14, "start", "#555", "n/a")
			continue
		}
		fmt.Fprintf(&c, `<rect x="%d" y="%s" width="%s" height="16" fill="%s" fill-opacity="%s"/>`, labelWidth, num(y+2), num(x(b.Value)-labelWidth),
			palette[slices.Index(groups, b.Group)%len(palette)], num(1-0.65*math.Min(math.Max(finite(b.Pale), 0), 1)))
		end := x(b.Value)
		if b.Low != b.High && !math.IsNaN(b.Low) && !math.IsNaN(b.High) {
			c.line(x(b.Low), y+10, x(b.High), y+10, "#111", 1.5)
			c.line(x(b.Low), y+6, x(b.Low), y+14, "#111", 1.5)
			c.line(x(b.High), y+6, x(b.High), y+14, "#111", 1.5)
			end = math.Max(end, x(b.High))
		}
		c.text(end+6, y+14, "start", "#111", label(b.Value))
	}
	return c.close()
}

// Stack is one bar of [Stacks]: counts, drawn as shares of their sum.
type Stack struct {
	Label string
	Parts []float64
}

// Stacks draws horizontal bars of the same length, cut by the shares of their
// parts, with the counts in them. Names are those of the parts.
func Stacks(title string, names []string, stacks []Stack) SVG {
	var c canvas
	height := 46 + rowHeight*len(stacks)
	c.open(chartWidth, height, title)
	for i, n := range names {
		x := labelWidth + i*150
		fmt.Fprintf(&c, `<rect x="%d" y="4" width="12" height="12" fill="%s"/>`, x, palette[i%len(palette)])
		c.text(float64(x+18), 14, "start", "#111", clipLabel(n, 20))
	}
	const width = chartWidth - labelWidth - 60
	for i, s := range stacks {
		y := 26 + float64(rowHeight*i)
		c.text(labelWidth-8, y+14, "end", "#111", clipLabel(s.Label, labelRunes))
		sum := 0.0
		for _, v := range s.Parts {
			sum += finite(v)
		}
		at := float64(labelWidth)
		for k, v := range s.Parts {
			if v = finite(v); v <= 0 {
				continue
			}
			w := width * v / sum
			fmt.Fprintf(&c, `<rect x="%s" y="%s" width="%s" height="16" fill="%s"/>`, num(at), num(y+2), num(w), palette[k%len(palette)])
			if w > 22 {
				c.text(at+w/2, y+14, "middle", "#fff", label(v))
			}
			at += w
		}
		c.text(labelWidth+width+6, y+14, "start", "#555", label(sum))
	}
	return c.close()
}

// Point is one point of [Scatter].
type Point struct {
	X, Y  float64
	Group string
	Label string // beside the point; may be empty
}

// Scatter draws points with both axes named, a colour a group.
func Scatter(title, xName, yName string, points []Point) SVG {
	var c canvas
	const height, left, bottom = 360, 60, 46
	c.open(chartWidth, height, title)
	var maxX, maxY float64
	for _, p := range points {
		maxX, maxY = math.Max(maxX, finite(p.X)), math.Max(maxY, finite(p.Y))
	}
	maxX, maxY = axisTop(maxX), axisTop(maxY)
	x := func(v float64) float64 { return left + (chartWidth-left-20)*v/maxX }
	y := func(v float64) float64 { return height - bottom - (height-bottom-14)*v/maxY }
	for i := 0; i <= 4; i++ {
		vx, vy := maxX*float64(i)/4, maxY*float64(i)/4
		c.line(x(vx), y(0), x(vx), y(maxY), "#eee", 1)
		c.line(x(0), y(vy), x(maxX), y(vy), "#eee", 1)
		c.text(x(vx), height-bottom+16, "middle", "#555", label(vx))
		c.text(left-6, y(vy)+4, "end", "#555", label(vy))
	}
	c.text(left+(chartWidth-left-20)/2, height-10, "middle", "#111", xName)
	c.text(left+2, 10, "start", "#111", yName)
	groups := groupsOf(points, func(p Point) string { return p.Group })
	for _, p := range points {
		if math.IsNaN(p.X) || math.IsNaN(p.Y) {
			continue
		}
		fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3.5" fill="%s" fill-opacity="0.55"/>`, num(x(p.X)), num(y(p.Y)), palette[slices.Index(groups, p.Group)%len(palette)])
		if p.Label != "" {
			at, anchor := x(p.X)+6, "start"
			if at > chartWidth-140 {
				at, anchor = x(p.X)-6, "end"
			}
			c.text(at, y(p.Y)+4, anchor, "#333", clipLabel(p.Label, 26))
		}
	}
	for i, g := range groups {
		if g == "" {
			continue
		}
		fmt.Fprintf(&c, `<circle cx="%d" cy="%d" r="4" fill="%s"/>`, chartWidth-180, 20+16*i, palette[i%len(palette)])
		c.text(chartWidth-170, float64(24+16*i), "start", "#111", clipLabel(g, 26))
	}
	return c.close()
}

// Histogram draws how many values fall into each of about n equal bins.
func Histogram(title, xName string, values []float64, n int) SVG {
	if len(values) == 0 || n < 1 {
		return Bars(title, nil, 1)
	}
	low, high := slices.Min(values), slices.Max(values)
	if high == low {
		high = low + 1
	}
	width := niceTop((high - low) / float64(n))
	first := math.Floor(low/width) * width
	var bars []Bar
	for from := first; from <= high; from += width {
		count := 0
		for _, v := range values {
			if v >= from && v < from+width {
				count++
			}
		}
		bars = append(bars, Bar{Label: label(from) + " – " + label(from+width) + " " + xName, Value: float64(count)})
	}
	return Bars(title, bars, 0)
}

func groupsOf[T any](list []T, of func(T) string) []string {
	var out []string
	for _, v := range list {
		if g := of(v); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// niceTop is the smallest 1, 2 or 5 times a power of ten that is at least v.
func niceTop(v float64) float64 {
	if v <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= v {
			return m * p
		}
	}
	return 10 * p
}

// axisTop is the end of an axis that holds v and has four equal steps: 1, 2, 2.5
// or 5 times a power of ten each. Steps of 2.5 are left out, since what is
// counted has no halves.
func axisTop(v float64) float64 {
	if v <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v/4)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if 4*m*p >= v && !(m == 2.5 && p == 1) {
			return 4 * m * p
		}
	}
	return 40 * p
}

func label(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func clipLabel(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
