// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
)

// Bin is one bin of [BarsAndLine].
type Bin struct {
	Label string
	Bar   float64
	Line  float64 // NaN where there is nothing
}

// BarsAndLine draws vertical bars against an axis on the right and a line
// against one on the left.
func BarsAndLine(title, xName, barName, lineName string, bins []Bin) SVG {
	var c canvas
	const height, left, right, top, bottom = 320, 50, 60, 34, 50
	c.open(chartWidth, height, title)
	var maxBar, maxLine float64
	for _, b := range bins {
		maxBar, maxLine = math.Max(maxBar, finite(b.Bar)), math.Max(maxLine, finite(b.Line))
	}
	maxBar, maxLine = axisTop(maxBar), axisTop(maxLine)
	const wide, high = chartWidth - left - right, height - top - bottom
	y := func(v, most float64) float64 { return height - bottom - high*v/most }
	for i := 0; i <= 4; i++ {
		f := float64(i) / 4
		c.line(left, y(f, 1), left+wide, y(f, 1), "#eee", 1)
		c.text(left-6, y(f, 1)+4, "end", palette[1], label(maxLine*f))
		c.text(left+wide+6, y(f, 1)+4, "start", "#555", label(maxBar*f))
	}
	c.text(6, 16, "start", palette[1], lineName)
	c.text(chartWidth-6, 16, "end", "#555", barName)
	c.text(left+wide/2, height-8, "middle", "#111", xName)
	step := float64(wide) / math.Max(1, float64(len(bins)))
	lastX, lastY := math.NaN(), 0.0
	for i, b := range bins {
		x := left + step*(float64(i)+0.5)
		fmt.Fprintf(&c, `<rect x="%s" y="%s" width="%s" height="%s" fill="#bcd7ea"/>`, num(x-step*0.35), num(y(finite(b.Bar), maxBar)), num(step*0.7), num(height-bottom-y(finite(b.Bar), maxBar)))
		c.text(x, height-bottom+16, "middle", "#555", clipLabel(b.Label, 9))
	}
	for i, b := range bins {
		if math.IsNaN(b.Line) {
			continue // the line goes on to the next bin that has something
		}
		px, py := left+step*(float64(i)+0.5), y(b.Line, maxLine)
		if !math.IsNaN(lastX) {
			c.line(lastX, lastY, px, py, palette[1], 2)
		}
		fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3.5" fill="%s"/>`, num(px), num(py), palette[1])
		lastX, lastY = px, py
	}
	return c.close()
}

// Heatmap draws a square of figures from -1 to 1: blue for positive ones, red
// for negative ones, grey where there is none.
func Heatmap(title string, names []string, cells [][]float64) SVG {
	var c canvas
	const side, left, top = 84, 190, 14
	height := top + side*len(names) + 40
	c.open(chartWidth, height, title)
	for i, n := range names {
		c.text(left-8, top+side*(float64(i)+0.5)+4, "end", "#111", clipLabel(n, 28))
		c.text(left+side*(float64(i)+0.5), float64(height-20), "middle", "#111", clipLabel(n, 11))
	}
	for i, row := range cells {
		for j, v := range row {
			fill, ink, s := "#eee", "#555", "n/a"
			if !math.IsNaN(v) {
				a := math.Min(math.Abs(v), 1)
				r, g, b := 0x00, 0x72, 0xB2
				if v < 0 {
					r, g, b = 0xD5, 0x5E, 0x00
				}
				mix := func(to int) int { return int(math.Round(255 + (float64(to)-255)*a)) }
				fill, ink, s = fmt.Sprintf("#%02x%02x%02x", mix(r), mix(g), mix(b)), "#111", strconv.FormatFloat(v, 'f', 3, 64)
				if a > 0.6 {
					ink = "#fff"
				}
			}
			x, y := left+side*float64(j), top+side*float64(i)
			fmt.Fprintf(&c, `<rect x="%s" y="%s" width="%d" height="%d" fill="%s" stroke="#fff"/>`, num(x), num(y), side, side, fill)
			c.text(x+side/2, y+side/2+4, "middle", ink, s)
		}
	}
	return c.close()
}

// Stretch is a row of [Dumbbells]: two places in percent.
type Stretch struct {
	Label    string
	From, To float64
}

// Dumbbells draws for each row two points from 0 to 100 % and the line between
// them, the first blue and the second red.
func Dumbbells(title, fromName, toName string, rows []Stretch) SVG {
	var c canvas
	const top = 30
	height := top + 30 + rowHeight*len(rows)
	c.open(chartWidth, height, title)
	const width = chartWidth - labelWidth - 40
	x := func(v float64) float64 { return labelWidth + width*math.Min(math.Max(v, 0), 100)/100 }
	for i, n := range []string{fromName, toName} {
		fmt.Fprintf(&c, `<circle cx="%d" cy="14" r="5" fill="%s"/>`, labelWidth+8+200*i, palette[i])
		c.text(float64(labelWidth+18+200*i), 18, "start", "#111", clipLabel(n, 28))
	}
	for i := 0; i <= 4; i++ {
		v := 25 * float64(i)
		c.line(x(v), top, x(v), float64(height-24), "#ddd", 1)
		c.text(x(v), float64(height-8), "middle", "#555", label(v)+" %")
	}
	for i, r := range rows {
		y := float64(top + 12 + rowHeight*i)
		c.text(labelWidth-8, y+4, "end", "#111", clipLabel(r.Label, 32))
		if math.IsNaN(r.From) || math.IsNaN(r.To) {
			c.text(labelWidth+4, y+4, "start", "#555", "n/a")
			continue
		}
		c.line(x(r.From), y, x(r.To), y, "#999", 2)
		for k, v := range []float64{r.From, r.To} {
			fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="5" fill="%s"/>`, num(x(v)), num(y), palette[k])
		}
	}
	return c.close()
}

// Series is a line of [Radar]: a value from 0 to 1 for each axis.
type Series struct {
	Name   string
	Values []float64
}

// Radar draws series over axes around a centre, from 0 to 1. A value that is
// not defined is drawn at the centre, with no mark.
func Radar(title string, axes []string, series []Series) SVG {
	var c canvas
	const height, cx, cy, radius = 400, 300.0, 196.0, 140.0
	c.open(chartWidth, height, title)
	at := func(axis int, v float64) (x, y float64) {
		a := 2*math.Pi*float64(axis)/float64(max(1, len(axes))) - math.Pi/2
		return cx + radius*v*math.Cos(a), cy + radius*v*math.Sin(a)
	}
	polygon := func(v func(axis int) float64, style string) {
		c.WriteString(`<polygon points="`)
		for i := range axes {
			x, y := at(i, v(i))
			fmt.Fprintf(&c, "%s,%s ", num(x), num(y))
		}
		fmt.Fprintf(&c, `" %s/>`, style)
	}
	for i := 1; i <= 4; i++ {
		f := float64(i) / 4
		polygon(func(int) float64 { return f }, `fill="none" stroke="#ddd"`)
		c.text(cx+4, cy-radius*f-2, "start", "#555", label(f))
	}
	for i, a := range axes {
		x, y := at(i, 1)
		c.line(cx, cy, x, y, "#ddd", 1)
		x, y = at(i, 1.1)
		anchor := "middle"
		if x > cx+1 {
			anchor = "start"
		} else if x < cx-1 {
			anchor = "end"
		}
		c.text(x, y+4, anchor, "#111", clipLabel(a, 24))
	}
	for k, s := range series {
		colour := palette[k%len(palette)]
		value := func(i int) float64 {
			if i >= len(s.Values) {
				return 0
			}
			return math.Min(math.Max(finite(s.Values[i]), 0), 1)
		}
		polygon(value, fmt.Sprintf(`fill="%s" fill-opacity="0.12" stroke="%s" stroke-width="2"`, colour, colour))
		for i := range axes {
			if i < len(s.Values) && !math.IsNaN(s.Values[i]) {
				x, y := at(i, value(i))
				fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`, num(x), num(y), colour)
			}
		}
		y := float64(20 + 18*k)
		fmt.Fprintf(&c, `<rect x="%d" y="%s" width="12" height="12" fill="%s"/>`, chartWidth-160, num(y), colour)
		fmt.Fprintf(&c, `<text x="%d" y="%s" fill="#111">%s</text>`, chartWidth-142, num(y+10), html.EscapeString(cell(clipLabel(s.Name, 20))))
	}
	return c.close()
}
