// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/ingest/internal/prose"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// binary says what data is if it is no text: "".
func binary(data []byte) string {
	head := data[:min(len(data), 64<<10)]
	for _, m := range []struct{ magic, what string }{
		{"PK\x03\x04", "a zip archive"}, {"\x1f\x8b", "gzip data"}, {"%PDF-", "a PDF"}, {"\x89PNG", "a PNG picture"}, {"\xff\xd8\xff", "a JPEG picture"},
		{"GIF8", "a GIF picture"}, {"\x7fELF", "a program"}, {"PAR1", "a Parquet file"}, {"SQLite format 3\x00", "a database"}, {"{\\rtf", "RTF"}, {"\xd0\xcf\x11\xe0", "an Office file"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what
		}
	}
	// UTF-16 and UTF-32 have zero bytes too; Decode knows them.
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) || bytes.HasPrefix(head, []byte{0, 0, 0xFE, 0xFF}) {
		return ""
	}
	zeros, controls := 0, 0
	var zeroAt [2]int
	for i, c := range head {
		switch {
		case c == 0:
			zeros++
			zeroAt[i&1]++
		case c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1A && c != 0x0B:
			controls++
		}
	}
	if zeros > 0 && len(head) >= 4 {
		half := len(head) / 2
		if zeroAt[0] > half*8/10 && zeroAt[1] <= half/10 || zeroAt[1] > half*8/10 && zeroAt[0] <= half/10 {
			return "" // UTF-16 without a mark
		}
	}
	if zeros > 0 && zeros*1000 > len(head) || controls*50 > len(head) {
		return "binary data"
	}
	return ""
}

// unfit names the reason for which a book is no collection of stories, or "".
func (r *Reader) unfit(d *doc, h header, info *Info) (reason, detail string) {
	set := r.Settings
	if h.copyright && set.SkipCopyright {
		return ReasonCopyright, "the header says that the book is in copyright"
	}
	if year := d.copyrightYear(); year > 0 && set.SkipCopyright {
		return ReasonCopyright, fmt.Sprintf("the title page has a copyright of %d", year)
	}
	if info != nil && set.SkipCopyright && strings.Contains(strings.ToLower(info.Rights), "copyrighted") {
		return ReasonCopyright, "the catalogue says: " + info.Rights
	}
	if len(set.Languages) > 0 {
		if h.language != "" {
			if code := languageCode(h.language); !listed(set.Languages, code) {
				return ReasonLanguage, "the header says Language: " + h.language
			}
		} else if listed(set.Languages, "en") && len(set.Languages) == 1 {
			if share := d.english(); share >= 0 && share < 0.12 {
				return ReasonLanguage, fmt.Sprintf("no header language, and only %.1f %% of the words are common English ones", share*100)
			}
		}
	}
	if n, of := d.speeches(); of >= 40 && n*10 >= of*4 {
		return ReasonPlay, fmt.Sprintf("%d of %d paragraphs are speeches with the speaker's name", n, of)
	}
	if verse, all := d.verseShare(); all >= 60 && verse*10 >= all*8 {
		return ReasonPoetry, fmt.Sprintf("%d of %d lines are verse", verse, all)
	}
	return "", ""
}

func listed(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// copyrightYear finds a copyright line of 1931 or later on the first pages.
func (d *doc) copyrightYear() int {
	for i := 0; i < len(d.lines) && i < 60; i++ {
		s := d.str(i)
		low := strings.ToLower(s)
		if !strings.HasPrefix(strings.TrimLeft(low, "_ "), "copyright") {
			continue
		}
		for k := 0; k+4 <= len(s); k++ {
			if (s[k] == '1' || s[k] == '2') && digits(s[k:k+4]) && (k+4 == len(s) || !digits(s[k+4:k+5])) {
				if y := int(s[k]-'0')*1000 + int(s[k+1]-'0')*100 + int(s[k+2]-'0')*10 + int(s[k+3]-'0'); y > 1930 && y < 2100 {
					return y
				}
			}
		}
	}
	return 0
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

var englishWords = map[string]bool{"the": true, "and": true, "of": true, "to": true, "a": true, "in": true, "he": true, "was": true, "that": true, "it": true,
	"his": true, "her": true, "she": true, "had": true, "they": true, "him": true, "with": true, "for": true, "you": true, "said": true}

// english is the share of the commonest English words among some thousand
// words from the book's middle, -1 if there are too few.
func (d *doc) english() float64 {
	n, hits := 0, 0
	for i := len(d.lines) / 4; i < len(d.lines) && n < 3000; i++ {
		for _, w := range strings.Fields(d.str(i)) {
			n++
			if englishWords[strings.ToLower(strings.Trim(w, ".,;:!?\"'”“’‘()_-"))] {
				hits++
			}
		}
	}
	if n < 100 {
		return -1
	}
	return float64(hits) / float64(n)
}

// speeches counts the blocks that begin with a speaker's name, and all. Names in
// capitals or before a stage direction tell by themselves; names in small
// letters ("Lane.  Yes, sir.") must come again and again.
func (d *doc) speeches() (n, of int) {
	small := map[string]int{}
	defer func() {
		all := 0
		for _, c := range small {
			if c >= 10 {
				all += c
			}
		}
		if len(small) >= 3 && all*10 >= of*4 {
			n = max(n, all)
		}
	}()
	for i := range d.blocks {
		b := d.blocks[i]
		if b.role != roleText {
			continue
		}
		of++
		s := d.str(b.first)
		if s[0] == '_' {
			s = s[1:]
		}
		// ALGERNON. Did you hear ...; Algernon. [Languidly.]; NAME (aside): ...
		if !capital(s) {
			continue
		}
		dot := 0
		for most := min(len(s), 32); dot < most && s[dot] != '.' && s[dot] != ':'; {
			dot++
		}
		if dot < 2 || dot == min(len(s), 32) {
			continue
		}
		name := s[:dot]
		rest := strings.TrimLeft(s[dot+1:], " _")
		switch {
		case quickCaps(name) && (rest == "" || len(rest) > 0 && b.last-b.first >= 1 && !quickCaps(rest)) && strings.Count(name, " ") <= 3 && roman(name) == 0 && !strings.HasPrefix(name, "CHAPTER"):
			n++
		case strings.HasPrefix(rest, "[") && strings.Count(name, " ") <= 2:
			n++
			small[name]++
		case rest != "" && strings.Count(name, " ") <= 2 && lettersOf(name) == caseTitle && (strings.HasPrefix(s[dot+1:], "  ") || s[dot] == '.'):
			small[name]++
		}
	}
	return n, of
}

// verseShare counts the lines of verse, and all, in blocks of two lines or
// more.
func (d *doc) verseShare() (verse, all int) {
	if d.html {
		for _, b := range d.blocks {
			if b.role != roleText {
				continue
			}
			k := b.last - b.first
			if b.hint == hintPara {
				k = max(1, (d.lines[b.last-1].end-d.lines[b.first].start)/60)
			}
			all += k
			if b.hint == hintVerse {
				verse += k
			}
		}
		return verse, all
	}
	// A sample will do: books have thousands of blocks.
	step := 1 + len(d.blocks)/600
	var buf []prose.Line
	for i := 0; i < len(d.blocks); i += step {
		b := d.blocks[i]
		k := b.last - b.first
		if b.role != roleText || k < 2 {
			continue
		}
		all += k
		buf = d.printed(b, buf)
		if prose.Verse(buf, d.width) {
			verse += k
		}
	}
	return verse, all
}

// narrative reports text that tells rather than describes: it has the small
// words of narration.
func narrative(s string) bool {
	n, told := 0, 0
	var buf [8]byte // the longest word that counts
	for r := range text.WordRanges(s) {
		if n++; n > 2000 {
			break // a sample will do
		}
		// The letters of a word are what is no mark before and behind it.
		w := r.Of(s)
		for w != "" && !letters[w[0]] {
			w = w[1:]
		}
		for w != "" && !letters[w[len(w)-1]] {
			w = w[:len(w)-1]
		}
		if len(w) > len(buf) {
			continue
		}
		for i := range len(w) {
			buf[i] = w[i] | 0x20
		}
		switch string(buf[:len(w)]) {
		case "he", "she", "him", "his", "her", "they", "them", "said", "i", "you", "my", "me", "your", "asked", "replied", "went", "came", "told", "saw":
			told++
		}
	}
	return n > 0 && told*100 >= n*6
}

var languages = map[string]string{"english": "en", "french": "fr", "german": "de", "italian": "it", "spanish": "es", "dutch": "nl", "finnish": "fi",
	"portuguese": "pt", "latin": "la", "chinese": "zh", "greek": "el", "swedish": "sv", "danish": "da", "norwegian": "no", "esperanto": "eo", "hungarian": "hu",
	"tagalog": "tl", "japanese": "ja", "polish": "pl", "russian": "ru", "czech": "cs", "catalan": "ca", "welsh": "cy", "irish": "ga", "icelandic": "is", "iroquoian": "iro",
	"middle english": "enm", "old english": "ang", "scots": "sco", "gaelic, scottish": "gd", "hebrew": "he", "yiddish": "yi", "bulgarian": "bg", "romanian": "ro", "serbian": "sr", "afrikaans": "af"}

// languageCode turns a header's language into a code. An unknown name is kept
// in lower case, so that it matches no code; no name counts as English.
func languageCode(name string) string {
	low := strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexAny(low, ",;/("); i > 0 {
		low = strings.TrimSpace(low[:i])
	}
	if low == "" {
		return "en"
	}
	if c, ok := languages[low]; ok {
		return c
	}
	return low
}

// slugOf is the key of a file whose header names no number.
func slugOf(name string) string {
	base := path.Base(name)
	low := strings.ToLower(base)
	for _, ext := range []string{".txt", ".htm", ".html", ".xhtml", ".text", ".utf8"} {
		if strings.HasSuffix(low, ext) && len(low) > len(ext) {
			base = base[:len(base)-len(ext)]
			break
		}
	}
	return schemas.Slug(base)
}

// idOfName reads the ebook number out of a file's path: files/503/503-0.txt,
// cache/epub/2591/pg2591.txt, 5314-8.txt. A number alone that is no such path
// is the name's own.
func idOfName(name string) string {
	base := path.Base(name)
	stem := base
	if i := strings.IndexByte(stem, '.'); i > 0 {
		stem = stem[:i]
	}
	stem = strings.TrimSuffix(stem, "-images")
	t := strings.TrimPrefix(stem, "pg")
	for _, suffix := range []string{"-0", "-8", "-h", "-5", "-7"} {
		t = strings.TrimSuffix(t, suffix)
	}
	if digits(t) && len(t) <= 7 {
		return strings.TrimLeft(t, "0")
	}
	// files/503/old/blfry10.txt
	dirs := strings.Split(path.Dir(name), "/")
	for i := len(dirs) - 1; i >= 0; i-- {
		d := dirs[i]
		if d == "old" || strings.HasSuffix(d, "-h") {
			continue
		}
		if digits(d) && len(d) <= 7 && i > 0 && (dirs[i-1] == "files" || dirs[i-1] == "epub") {
			return d
		}
		break
	}
	return ""
}

// declaredCharset finds the charset a file claims for itself in its first
// bytes.
func declaredCharset(data []byte, html bool) string {
	head := data[:min(len(data), 24<<10)]
	if html {
		return htmlCharset(head)
	}
	const field = "haracter set encoding:"
	i := bytes.Index(head, []byte(field))
	if i < 0 {
		return ""
	}
	l := head[i+len(field):]
	if n := bytes.IndexByte(l, '\n'); n >= 0 {
		l = l[:n]
	}
	if len(l) > 60 || !utf8.Valid(l) {
		return ""
	}
	s := strings.TrimSpace(string(l))
	if j := strings.IndexByte(s, '('); j > 0 { // ISO-646-US (US-ASCII)
		s = strings.TrimSpace(s[:j])
	}
	return s
}
