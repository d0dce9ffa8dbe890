// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// page puts a body between the markers of an HTML book.
func htmlBook(body string) string {
	return "<!DOCTYPE html>\n<html>\n<head><title>Lamp Tales</title><style>p { color: red }</style></head>\n<body>\n<pre>\nThe Project Gutenberg EBook of Lamp Tales\n\nTitle: Lamp Tales\n\nRelease Date: May, 2005 [EBook #4321]\n\nLanguage: English\n\n*** START OF THIS PROJECT GUTENBERG EBOOK LAMP TALES ***\n</pre>\n" +
		body + "\n<pre>\nEnd of Project Gutenberg's Lamp Tales, by A. Other\n\n*** END OF THIS PROJECT GUTENBERG EBOOK LAMP TALES ***\n\nlicence licence licence\n</pre>\n</body></html>\n"
}

func TestHTMLText(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"paragraphs", "<p>The lamp\nwas lit.</p>\n<p>It burned.</p>", "The lamp was lit.\n\nIt burned."},
		{"entities", "<p>&ldquo;Na&iuml;ve&mdash;very,&rdquo; said &AElig;sop&#8217;s&nbsp;fox &amp; left&hellip;</p>", "“Naïve—very,” said Æsop’s fox & left…"},
		{"unclosed paragraphs", "<P>The lamp was lit.\n<P>It burned.", "The lamp was lit.\n\nIt burned."},
		{"italics", "<p>It was <i>very</i> odd, <em>ve</em>ry odd.</p>", "It was very odd, very odd."},
		{"page numbers", "<p>The lamp <span class=\"pagenum\"><a name=\"Page_12\" id=\"Page_12\">[Pg 12]</a></span>was lit.</p><span class=\"pagenum\">13</span><p>It burned<a id=\"page14\"></a><span class='pageno'>{14}</span>.</p>", "The lamp was lit.\n\nIt burned."},
		{"a number that is no page", "<p>The lamp was lit in <span class=\"year\">1802</span>.</p>", "The lamp was lit in 1802."},
		{"caption", "<p>The lamp was lit.</p><div class=\"figcenter\"><img src=\"x.png\" alt=\"\"/><p class=\"caption\">The lamp at night</p></div><p>It burned.</p>", "The lamp was lit.\n\nIt burned."},
		{"figure", "<p>The lamp was lit.</p><figure><img src=\"x.png\"><figcaption>The lamp</figcaption></figure><p>It burned.</p>", "The lamp was lit.\n\nIt burned."},
		{"caption that repeats alt", "<p>The lamp was lit.</p><center><img src=\"x.png\" alt=\"The lamp at night\"></center><br><center><small><b>The lamp at night</b></small></center><p>It burned.</p>", "The lamp was lit.\n\nIt burned."},
		{"footnote", "<p>He sailed<a name=\"FNanchor_1_1\" id=\"FNanchor_1_1\"></a><a href=\"#Footnote_1_1\" class=\"fnanchor\">[1]</a> at dawn.</p><p>Nobody waved.</p><div class=\"footnote\"><p><a name=\"Footnote_1_1\" id=\"Footnote_1_1\"></a><a href=\"#FNanchor_1_1\"><span class=\"label\">[1]</span></a> In 1802.</p></div><p>It rained.</p>", "He sailed at dawn.\n\nNobody waved.\n\nIt rained."},
		{"footnote, bare", "<p>He sailed[1] at dawn.</p><p>Nobody waved.</p><p>[1] In 1802.</p><p>It rained.</p>", "He sailed at dawn.\n\nNobody waved.\n\nIt rained."},
		{"bracket without note", "<p>Room [12] was shut.</p>", "Room [12] was shut."},
		{"verse by breaks", "<p>She sang:</p><p>Lamp, lamp, burn bright,<br/>\nAll the day and all the night.</p><p>Then she slept.</p>", "She sang:\n\nLamp, lamp, burn bright,\nAll the day and all the night.\n\nThen she slept."},
		{"verse in divs", "<p>She sang:</p><div class=\"poem\"><div class=\"stanza\"><span class=\"i0\">Lamp, lamp, burn bright,<br /></span><span class=\"i2\">All the day and all the night.<br /></span></div></div><p>Then she slept.</p>", "She sang:\n\nLamp, lamp, burn bright,\nAll the day and all the night.\n\nThen she slept."},
		{"verse in pre", "<p>She sang:</p><pre>\n    Lamp, lamp, burn bright,\n      All the day and all the night.\n</pre><p>Then she slept.</p>", "She sang:\n\nLamp, lamp, burn bright,\nAll the day and all the night.\n\nThen she slept."},
		{"drop capital", "<p><img src=\"o.png\" alt=\"O\" />nce there was a lamp.</p>", "Once there was a lamp."},
		{"script and style", "<p>The lamp<script>var x = '<p>no</p>';</script> was lit.</p><style>b { }</style><p>It burned.</p>", "The lamp was lit.\n\nIt burned."},
		{"comment", "<p>The lamp <!-- <p>no</p> -->was lit.</p>", "The lamp was lit."},
		{"layout table", "<table><tr><td>" + strings.Repeat("<p>The keeper went down to the water every evening and looked for her boat.</p>", 5) + "</td></tr></table>", strings.TrimSuffix(strings.Repeat("The keeper went down to the water every evening and looked for her boat.\n\n", 5), "\n\n")},
		{"attributes with angle brackets", "<p title=\"a > b < c\">The lamp was lit.</p>", "The lamp was lit."},
		{"lone angle bracket", "<p>3 < 4, said the fox.</p>", "3 < 4, said the fox."},
		{"transcriber's note", "<div class=\"tnote\"><p>Spelling was kept.</p></div><p>The lamp was lit.</p>", "The lamp was lit."},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := htmlBook(c.body)
			s := single(t, "x.htm", file)
			if s.Text != c.want {
				t.Errorf("%q\nwant %q", s.Text, c.want)
			}
			if s.StoryID != "gutenberg:4321" {
				t.Error(s.StoryID)
			}
		})
	}
}

// What is taken out of HTML is recorded in bytes of the file.
func TestHTMLRemovals(t *testing.T) {
	file := htmlBook("<p>The &eacute;lite &mdash; lamp <span class=\"pagenum\">[Pg 12]</span>was lit.</p>\n<div class=\"figcenter\"><p>The lamp at night</p></div>\n<p>It burned<a href=\"#n1\" class=\"fnanchor\">[1]</a>.</p><div class=\"footnote\" id=\"n1\">[1] In 1802.</div>")
	s := single(t, "x.htm", file)
	for rule, want := range map[string]string{rulePage: "[Pg 12]", ruleIllustration: "The lamp at night", ruleCall: "[1]", ruleFootnote: "[1] In 1802."} {
		var got []string
		for _, r := range s.Removed {
			if r.Rule == rule {
				got = append(got, file[r.ByteStart:r.ByteEnd])
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
	if f := s.Removed[len(s.Removed)-1]; f.Rule != ruleFooter || f.ByteEnd != len(file) || !strings.Contains(file[f.ByteStart:], "licence licence") || strings.Contains(file[f.ByteStart:], "In 1802") {
		t.Errorf("footer %v", f)
	}
}

func TestHTMLMarkersInsideTags(t *testing.T) {
	for _, marker := range []string{"<p>%s</p>", "<p>\n   %s\n</p>", "<pre>\n%s\n</pre>", "<p>&nbsp; %s</p>", "<div><b>%s</b></div>", "<p>\n<span>%s</span><br/></p>"} {
		file := "<html><body><p>Title: Lamp Tales</p><p>[EBook #4321]</p>" + fmt.Sprintf(marker, "*** START OF THIS PROJECT GUTENBERG EBOOK LAMP TALES ***") +
			"<p>The lamp was lit.</p><p>It burned.</p>" + fmt.Sprintf(marker, "*** END OF THIS PROJECT GUTENBERG EBOOK LAMP TALES ***") + strings.Repeat("<p>licence</p>", 50) + "</body></html>"
		if got := single(t, "x.html", file).Text; got != "The lamp was lit.\n\nIt burned." {
			t.Errorf("%s: %q", marker, got)
		}
	}
}

func TestHTMLSplit(t *testing.T) {
	heads := []string{"The Red Lamp", "The Blue Lamp", "The Lamp Beyond the Hill"}
	text := func(i int) string {
		return fmt.Sprintf("<p>Tale number %d begins here.</p>", i) + strings.Repeat("<p>The keeper went down to the water every evening, and he looked for her boat among the others, and when it was not there he said that the wind was to blame.</p>\n", 4) + fmt.Sprintf("<p>It ends with number %d.</p>", i)
	}
	for _, c := range []struct {
		name, front string
		head        func(string) string
		want        []string
	}{
		{"h2", "<h1>Lamp Tales</h1><h2>By A. Other</h2>", func(s string) string { return "<h2>" + s + "</h2>" }, heads},
		{"h3 with anchors and page numbers", "<h1>Lamp Tales</h1>", func(s string) string {
			return "<hr/><h3><a name=\"x\"></a><span class=\"pagenum\">p. 12</span>" + s + "</h3>"
		}, heads},
		{"contents in a table", "<h2>CONTENTS</h2><table><tr><td><p>&nbsp;</p></td><td><p>PAGE</p></td></tr><tr><td><p>The Red Lamp</p></td><td><p><a href=\"#p\">1</a></p></td></tr><tr><td><p>The Blue Lamp</p></td><td><p>21</p></td></tr><tr><td><p>The Lamp Beyond the Hill</p></td><td><p>33</p></td></tr></table>", func(s string) string { return "<h2>" + strings.ToUpper(s) + "</h2>" },
			[]string{"THE RED LAMP", "THE BLUE LAMP", "THE LAMP BEYOND THE HILL"}},
		{"contents in paragraphs", "<p class=\"toc\">CONTENTS</p><p class=\"toc\"><a href=\"#a\">The Red Lamp</a></p><p class=\"toc\"><a href=\"#b\">The Blue Lamp</a></p><p class=\"toc\"><a href=\"#c\">The Lamp Beyond the Hill</a></p><h2>PREFACE</h2>" + strings.Repeat("<p>I wrote these tales in a lighthouse, where nobody came to disturb me but gulls, and where the winters are long enough to write down whatever a man has heard.</p>", 3), func(s string) string { return "<h2>" + s + "</h2>" }, heads},
		{"shouted lines in h3", "<h1>Lamp Tales</h1>", func(s string) string { return "<h2>" + s + "</h2>" }, heads},
		{"heading over two lines", "", func(s string) string { return "<h2>" + strings.Replace(s, " Lamp", "<br/>\nLamp", 1) + "</h2>" }, heads},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := c.front
			for i, h := range heads {
				body += c.head(h) + text(i+1)
				if c.name == "shouted lines in h3" && i == 1 {
					body = strings.Replace(body, "<p>It ends with number 2.", "<h3>“THOU HAST IT!”</h3><p>It ends with number 2.", 1)
				}
			}
			bk := read(t, "x.htm", htmlBook(body))
			if !slices.Equal(titles(bk), c.want) {
				t.Fatalf("split by %s: %q", bk.Outline, titles(bk))
			}
			for i, s := range bk.Stories {
				if !strings.HasPrefix(s.Text, fmt.Sprintf("Tale number %d begins", i+1)) || !strings.HasSuffix(s.Text, fmt.Sprintf("ends with number %d.", i+1)) {
					t.Errorf("%.60q ... %q", s.Text, s.Text[len(s.Text)-40:])
				}
			}
		})
	}
}

// The same book gives the same stories as plain text and as HTML.
func TestHTMLEqualsText(t *testing.T) {
	plain := collection("", gap3, "\n\n\n", "THE RED LAMP", "THE BLUE LAMP", "THE LAMP BEYOND THE HILL")
	body := ""
	for _, block := range strings.Split(plain[strings.Index(plain, startC)+len(startC):strings.Index(plain, endC)], "\n\n") {
		switch b := strings.TrimSpace(block); {
		case b == "":
		case quickCaps(b):
			body += "<h2>" + b + "</h2>\n"
		default:
			body += "<p>\n" + b + "\n</p>\n"
		}
	}
	a, b := read(t, "x.txt", plain), read(t, "x.htm", htmlBook(body))
	if len(a.Stories) != 3 || len(b.Stories) != 3 {
		t.Fatalf("%q %q", titles(a), titles(b))
	}
	for i := range a.Stories {
		if a.Stories[i].Text != b.Stories[i].Text || a.Stories[i].StoryID != b.Stories[i].StoryID {
			t.Errorf("%q\n%q", a.Stories[i].Text, b.Stories[i].Text)
		}
	}
}

// Deep nesting and endless tags are read by tokens; no text is lost.
func TestHTMLHostile(t *testing.T) {
	text := "<p>The lamp was lit.</p><p>It burned.</p>"
	for name, body := range map[string]string{
		"600 divs":             strings.Repeat("<div>", 600) + text + strings.Repeat("</div>", 600),
		"100,000 divs":         strings.Repeat("<div>", 100000) + text,
		"100,000 spans":        strings.Repeat("<span>", 100000) + text,
		"never closed fonts":   strings.Repeat("<font><b><i>", 3000) + text,
		"deep tables":          strings.Repeat("<table><tr><td>", 700) + text,
		"end tags only":        strings.Repeat("</div></b></table>", 3000) + text,
		"formatting misnested": strings.Repeat("<b><p><i></b>", 300) + text,
	} {
		t.Run(name, func(t *testing.T) {
			s := single(t, "x.htm", htmlBook(body))
			if s.Text != "The lamp was lit.\n\nIt burned." {
				t.Errorf("%.200q", s.Text)
			}
		})
	}
	// A tag that never ends swallows what follows, and no more.
	if bk := read(t, "x.htm", strings.Replace(htmlBook(text+"<p "), "</body>", "", 1)); len(bk.Stories) > 1 {
		t.Errorf("%q", titles(bk))
	}
}

func TestHTMLCharset(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{`<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1" />`, "iso-8859-1"},
		{`<meta charset='utf-8'>`, "utf-8"},
		{`<?xml version="1.0" encoding="us-ascii"?>`, "us-ascii"},
		{`<META HTTP-EQUIV="x" CONTENT="text/html; CHARSET = windows-1252">`, "windows-1252"},
		{`<html><body>no charset here`, ""},
	} {
		if got := htmlCharset([]byte(c.head)); got != c.want {
			t.Errorf("%s: %q", c.head, got)
		}
	}
	s := single(t, "x.htm", strings.Replace(htmlBook("<p>Esm\xe9 lit the lamp.</p>"), "<head>", "<head><meta charset=\"utf-8\">", 1))
	if s.Text != "Esmé lit the lamp." {
		t.Errorf("a lying charset: %q", s.Text)
	}
}
