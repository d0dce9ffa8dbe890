// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"strings"
)

// front takes out what stands between the start marker and the book itself:
// who made the file, notes on the file, the title page's own lines where they
// can be told from text. Only the very first blocks are looked at: the same
// words later on are the story's.
func (d *doc) front(h header) {
	var more []cut
	title := foldTitle(h.title)
	ts := signature(title)
	for i := 0; i < len(d.blocks) && i < 60; i++ {
		b := &d.blocks[i]
		if b.role != roleText {
			continue
		}
		done := false
		for k := b.first; k < b.last; {
			if d.lines[k].cut {
				k++
				continue
			}
			n, rule := d.frontLines(*b, k, title, &ts, h)
			if n == k {
				done = true
				break
			}
			more = append(more, cut{d.lines[k].start, d.lines[n-1].end, rule})
			for j := k; j < n; j++ {
				d.lines[j].cut = true
			}
			k = n
		}
		if done {
			// The rest of the block is text.
			for b.first < b.last && d.lines[b.first].cut {
				b.first++
			}
			break
		}
		b.role = roleVoid
		if n := b.last - b.first; n == 1 && fileNote(d.str(b.first)) && strings.HasSuffix(d.str(b.first), ":") {
			// "Transcriber's note:" alone; the note is set in below it.
			for i+1 < len(d.blocks) && d.lines[d.blocks[i+1].first].indent >= 2 && d.blocks[i+1].before < 3 {
				i++
				sp := d.span(i, i+1)
				more = append(more, cut{sp.start, sp.end, ruleTranscriber})
				for k := d.blocks[i].first; k < d.blocks[i].last; k++ {
					d.lines[k].cut = true
				}
				d.blocks[i].role = roleVoid
			}
		}
	}
	d.addCuts(more)
}

// frontLines reads one note about the file at line k of block b and returns
// the line behind it; k itself if there is none.
func (d *doc) frontLines(b block, k int, title string, ts *sig, h header) (int, string) {
	s := d.str(k)
	stop := b.last
	for j := k + 1; j < b.last; j++ {
		if t := d.str(j); t[0] == '[' || credit(t) || fileNote(t) || d.lines[j].cut || genericLine(t) {
			stop = j
			break
		}
	}
	switch {
	case credit(s):
		return stop, ruleCredit
	case fileNote(s):
		return stop, ruleTranscriber
	}
	return k, ""
}

func genericLine(s string) bool {
	h, ok := readHead(s)
	return ok && h.generic
}

var creditStarts = []string{"produced by", "e-text prepared by", "etext prepared by", "this etext was", "this e-text was", "this ebook was", "this text was",
	"transcribed by", "transcribed from", "scanned by", "scanned and", "text scanned by", "text scanned", "the e-book was prepared", "the ebook was prepared", "prepared by",
	"proofread by", "proofreading by", "html version by", "digitized by", "credits:", "updated editions", "this file was produced", "contact ",
	"distributed proofreading", "online distributed", "the e-text was", "this book was produced", "typed by", "ocr by", "electronic version", "edited by charles"}

// credit reports a line that says who made the file. What follows "by" must
// be a name or a team: "Produced by a conjuror's hand" is a story's.
func credit(s string) bool {
	low := strings.ToLower(s[:min(len(s), 40)])
	low = strings.TrimLeft(low, "*_[( ")
	for _, p := range creditStarts {
		if !strings.HasPrefix(low, p) {
			continue
		}
		at := strings.Index(strings.ToLower(s), p) + len(p)
		rest := strings.TrimLeft(s[at:], " :")
		if !strings.HasSuffix(p, " by") {
			return madeWords(s)
		}
		if rest == "" {
			return true
		}
		lowRest := strings.ToLower(rest)
		for _, t := range []string{"the online", "the distributed", "an anonymous", "a volunteer", "volunteers", "the pg", "a project", "the project", "distributed", "anonymous", "the internet"} {
			if strings.HasPrefix(lowRest, t) {
				return true
			}
		}
		return capital(rest) || rest[0] >= 0x80
	}
	return false
}

// madeWords reports words that only a note on a file has.
func madeWords(s string) bool {
	low := strings.ToLower(s)
	for _, w := range []string{"project", "gutenberg", "etext", "e-text", "ebook", "e-book", "proofread", "scan", "ocr", "prepared", "produced", "transcribed", "@", "edition", "http", "distributed"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// fileNote reports a line that starts a note on the file or its pictures.
func fileNote(s string) bool {
	low := strings.ToLower(s[:min(len(s), 120)])
	low = strings.TrimLeft(low, "*_[( ")
	switch {
	case strings.HasPrefix(low, "transcriber's note"), strings.HasPrefix(low, "transcriber’s note"), strings.HasPrefix(low, "transcriber note"),
		strings.HasPrefix(low, "transcribers' note"), strings.HasPrefix(low, "transcribers’ note"):
		return true
	case strings.HasPrefix(low, "note:"), strings.HasPrefix(low, "images of the original"), strings.HasPrefix(low, "editor's note:"):
		for _, w := range []string{"images", "project gutenberg", "html version", "original page", "ebook", "file", "illustrations", "scans"} {
			if strings.Contains(low, w) {
				return true
			}
		}
	}
	return false
}
