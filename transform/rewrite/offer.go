// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// piece is a passage of the source that a prompt uses: where it stands, and
// how the prompt shows it.
type piece struct {
	role string
	in   string // sourceText or sourcePrompt
	text string // verbatim
	show string
}

// offer is what a source gives for one task, and how well it fits.
type offer struct {
	fit     float64
	premise piece
	opening piece
	ending  piece
	outline []piece
}

// Lengths of passages, in words (ideographs for Chinese).
type lengths struct{ min, max int }

var (
	premiseWords = map[bool]lengths{false: {14, 75}, true: {20, 140}}
	openingWords = map[bool]lengths{false: {70, 190}, true: {110, 320}} // of a continuation
	beginWords   = map[bool]lengths{false: {28, 100}, true: {45, 170}}  // of a completion
	endingWords  = map[bool]lengths{false: {16, 80}, true: {28, 140}}
)

// Least words of a source for a task, and beats of an outline.
const (
	leastWords     = 100
	leastOutlined  = 220
	leastCompleted = 260
	// Ten sentences are no outline of a book, nor do its first and last lines
	// say much of each other: of longer texts the rules use the beginning alone.
	mostOutlined = 12_000
	leastBeats   = 5
	mostBeats    = 10
)

// offers says which tasks a story can be made into. quote bounds the words of
// one passage, 0 for no bound.
func (r *reading) offers(quote int) map[string]*offer {
	out := map[string]*offer{}
	if r.words < leastWords && r.asked == "" {
		return out
	}
	if p, fit := r.premise(quote); fit > 0 {
		out[schemas.TaskGeneration] = &offer{fit: fit, premise: p}
	}
	l := bound(openingWords[r.zh], quote)
	l.max = min(l.max, r.words*2/5) // more would give the story away
	if p, ok := r.opening(l); ok && !r.summary() {
		out[schemas.TaskContinuation] = &offer{fit: 0.8, opening: p}
	}
	if r.words > mostOutlined {
		return out
	}
	if r.words >= leastOutlined || r.summary() {
		n := min(mostBeats, max(leastBeats+1, r.words/120))
		if b := r.plot(n); len(b) >= leastBeats || r.summary() && len(b) >= 4 {
			o := &offer{fit: 0.8, outline: b}
			if r.summary() {
				o.fit = 1.6
			}
			out[schemas.TaskExpansion] = o
		}
	}
	if r.words >= leastCompleted || r.summary() && r.words >= 120 {
		begin, ok1 := r.opening(bound(beginWords[r.zh], quote))
		end, ok2 := r.ending(bound(endingWords[r.zh], quote))
		if ok1 && ok2 && len(begin.text)+len(end.text) < len(r.text)*2/3 {
			o := &offer{fit: 0.8, opening: begin, ending: end}
			if n := len(r.sents); n > 12 {
				o.outline = slices.DeleteFunc(r.outline(2, n/4, n*3/4), func(p piece) bool {
					return strings.Contains(begin.text, p.text) || strings.Contains(end.text, p.text)
				})
			}
			out[schemas.TaskCompletion] = o
		}
	}
	return out
}

func bound(l lengths, quote int) lengths {
	if quote > 0 && quote < l.max {
		l.max = quote
		l.min = min(l.min, quote*2/5)
	}
	return l
}

// formula are the words with which a tale sets out a situation.
var formula = regexp.MustCompile(`(?i)\b(?:once|long ago|there (?:was|were|lived|dwelt|is|are)|in (?:the|a) (?:days|time|land|year|far)|lived|years ago)\b|从前|很久|有一|曾经`)

// premise is a situation to start from: the prompt that people wrote for the
// story, or its first sentences where they set one out.
func (r *reading) premise(quote int) (piece, float64) {
	if r.asked != "" {
		n := countWords(r.asked, isZhText(r.asked))
		if n >= 8 && (quote == 0 || n <= quote) && n <= 150 && plainPrompt(r.asked) {
			return piece{"premise", sourcePrompt, r.asked, r.asked}, 1.2
		}
	}
	l := bound(premiseWords[r.zh], quote)
	first := r.firstProse()
	if first < 0 {
		return piece{}, 0
	}
	sum := 0
	for i := first; i < len(r.sents) && i < first+4; i++ {
		s := r.sents[i]
		t := r.of(s)
		if i == first && leans(t, r.zh) || !plain(t) || !ends(t) || spoken(t) || addresses(t) {
			break
		}
		if sum+s.words > l.max {
			break
		}
		sum += s.words
		// A second sentence is taken where the first says little.
		if sum >= l.min && (sum >= l.max*2/5 || i > first+1) {
			return r.premiseOf(first, i)
		}
	}
	if sum >= l.min {
		for i := first; i < len(r.sents); i++ {
			sum -= r.sents[i].words
			if sum <= 0 {
				return r.premiseOf(first, i)
			}
		}
	}
	return piece{}, 0
}

func (r *reading) premiseOf(first, last int) (piece, float64) {
	rng := text.Range{Start: r.sents[first].Start, End: r.sents[last].End}
	t := rng.Of(r.text)
	fit := 0.35
	if formula.MatchString(r.of(r.sents[first])) {
		fit = 0.8
	}
	return piece{"premise", sourceText, t, show(t)}, fit
}

// spoken reports quotation marks: somebody speaks.
func spoken(t string) bool { return strings.ContainsAny(t, "\"“”「」『』«»") || quoted(t) }

// plainPrompt reports a prompt without markup or notes to a forum.
func plainPrompt(t string) bool {
	return !strings.ContainsAny(t, "[]{}<>|#\\^~") && !strings.Contains(t, "http")
}

// firstProse is the first sentence of the story's running prose, -1 if there is
// none near its start.
func (r *reading) firstProse() int {
	for i, p := range r.paras {
		if i >= 6 {
			break
		}
		if p.prose && p.last > p.first {
			return p.first
		}
	}
	return -1
}

// goesBack is how a text begins that is a part of a longer one.
var goesBack = regexp.MustCompile(`(?i)^\W*(?:meantime|meanwhile|presently|thus|therefore|hence|however|moreover|besides|these|such|also|afterwards?|accordingly|consequently)\b`)

// opening is the story's beginning, of whole sentences.
func (r *reading) opening(l lengths) (piece, bool) {
	first := r.firstProse()
	if first < 0 || leans(r.of(r.sents[first]), r.zh) && r.zh || goesBack.MatchString(r.of(r.sents[first])) || unicode.IsLower(firstLetter(r.of(r.sents[first]))) {
		return piece{}, false
	}
	sum, last := 0, -1
	para, paraSum, lastSum := -1, 0, 0 // the last paragraph that ends inside
	seen := map[string]bool{}
	for i := first; i < len(r.sents); i++ {
		s := r.sents[i]
		if seen[r.of(s)] { // a refrain: verse, or a tale told to be joined in
			return piece{}, false
		}
		seen[r.of(s)] = true
		if i > first && !r.adjoin(i-1, i) || !plain(r.of(s)) {
			break
		}
		if sum+s.words > l.max {
			break
		}
		sum += s.words
		if sum >= l.min && ends(r.of(s)) && balanced(r.text[r.sents[first].Start:s.End]) {
			last, lastSum = i, sum
			if i+1 == r.paras[s.para].last { // a paragraph's end is a good place
				para, paraSum = i, sum
				if sum >= l.min*3/2 {
					break
				}
			}
		}
	}
	if last < 0 {
		return piece{}, false
	}
	if para >= 0 && paraSum*10 >= lastSum*6 {
		last = para
	}
	t := r.text[r.sents[first].Start:r.sents[last].End]
	return piece{"opening", sourceText, t, show(t)}, true
}

// adjoin reports that no paragraph of another kind stands between two
// sentences.
func (r *reading) adjoin(i, j int) bool {
	for p := r.sents[i].para + 1; p < r.sents[j].para; p++ {
		if !r.paras[p].prose {
			return false
		}
	}
	return strings.TrimSpace(r.text[r.sents[i].End:r.sents[j].Start]) == ""
}

// balanced reports that every double quotation mark opened is closed.
func balanced(t string) bool {
	return strings.Count(t, "\"")%2 == 0 && strings.Count(t, "“") == strings.Count(t, "”") && strings.Count(t, "「") == strings.Count(t, "」")
}

// farewell are last words of a teller to the audience, which belong to no plot.
var farewell = regexp.MustCompile(`(?i)\bend of (?:this|the|my|our) (?:story|tale)|believe (?:this|it|me)\b|\bmoral\b|\bwhoso?ever\b|\bif they (?:are|have|be) not dead|\bto this (?:very )?day|\bI (?:was|have|can|know|heard)\b|\bmy (?:story|tale)\b|\breaders?\b|\bthe end\b`)

// takesLeave reports a sentence in which the teller speaks to the audience.
func (r *reading) takesLeave(t string) bool {
	return farewell.MatchString(t) || !r.zh && !spoken(t) && !r.first() && slices.Contains(wordsOf(t), "i")
}

// ending is how the story ends, of whole sentences.
func (r *reading) ending(l lengths) (piece, bool) {
	if len(r.paras) == 0 || len(r.sents) == 0 {
		return piece{}, false
	}
	// A text that breaks off has no ending.
	if !ends(r.text) && ends(r.of(r.sents[len(r.sents)-1])) {
		if last := r.paras[len(r.paras)-1]; !last.prose && strings.IndexFunc(last.Of(r.text), unicode.IsLetter) >= 0 {
			return piece{}, false
		}
	}
	last := len(r.sents) - 1
	for n := 0; n < 4 && last > 0; n++ {
		t := r.of(r.sents[last])
		if plain(t) && ends(t) && !r.takesLeave(t) {
			break
		}
		if !ends(t) && n == 0 {
			return piece{}, false
		}
		last--
	}
	if t := r.of(r.sents[last]); !plain(t) || !ends(t) || r.takesLeave(t) {
		return piece{}, false
	}
	sum, first := 0, -1
	for i := last; i >= 0; i-- {
		s := r.sents[i]
		t := r.of(s)
		if i < last && !r.adjoin(i, i+1) || !plain(t) || sum+s.words > l.max {
			break
		}
		sum += s.words
		if sum >= l.min && !leans(t, r.zh) && balanced(r.text[s.Start:r.sents[last].End]) {
			first = i
			break
		}
	}
	if first < 0 {
		return piece{}, false
	}
	t := r.text[r.sents[first].Start:r.sents[last].End]
	return piece{"ending", sourceText, t, show(t)}, true
}

// plot is an outline of the whole story: what it sets out from, beats between,
// and where it arrives.
func (r *reading) plot(n int) []piece {
	all := len(r.sents)
	if all < n {
		return r.outline(n, 0, all)
	}
	first := -1
	for i := range min(all, max(3, all/8)) {
		t := r.of(r.sents[i])
		if r.fitness(r.sents[i]) > 0 && !leans(drop(t), r.zh) && !backward(t) || formula.MatchString(t) && !backward(t) && r.sents[i].words <= 45 && plain(t) && ends(t) && !spoken(t) {
			first = i
			break
		}
	}
	last := -1
	for i := all - 1; i > all-1-max(3, all/8) && i > first; i-- {
		t := r.of(r.sents[i])
		if r.fitness(r.sents[i]) > 0 && !leans(drop(t), r.zh) && !r.takesLeave(t) {
			last = i
			break
		}
	}
	var out []piece
	add := func(i int) {
		t := clause(r.of(r.sents[i]))
		out = append(out, piece{"outline", sourceText, t, point(t, r.zh)})
	}
	from, to := 0, all
	if first >= 0 {
		add(first)
		from, n = first+1, n-1
	}
	if last >= 0 {
		to, n = last, n-1
	}
	if from < to {
		out = append(out, r.outline(n, from, to)...)
	}
	if last >= 0 {
		add(last)
	}
	return out
}

// backward reports a pronoun near a sentence's start: it needs a sentence
// before it.
func backward(t string) bool {
	f := wordsOf(t)
	for _, w := range f[:min(12, len(f))] {
		switch w {
		case "he", "she", "they", "him", "her", "them", "his", "their", "this", "these", "those":
			return true
		}
	}
	return false
}

// outline picks the beats of a stretch of the story. The first must not lean on
// what stood before.
func (r *reading) outline(n, from, to int) []piece {
	var out []piece
	seen := map[string]bool{}
	for _, s := range r.beats(n, from, to) {
		t := clause(r.of(s))
		if seen[t] {
			continue
		}
		seen[t] = true
		if len(out) == 0 && from == 0 && leans(drop(t), r.zh) {
			continue
		}
		out = append(out, piece{"outline", sourceText, t, point(t, r.zh)})
	}
	return out
}

// point is a beat as a line of an outline: without the conjunction it began
// with, and with a full stop.
func point(t string, zh bool) string {
	t = strings.Join(strings.Fields(strings.ReplaceAll(t, "--", "—")), " ")
	if zh {
		return strings.ReplaceAll(t, "\n", "")
	}
	t = drop(t)
	if !ends(t) {
		t = strings.TrimRight(t, ",;:- —") + "."
	}
	return t
}

// linking are first words that only tie a sentence to the one before.
var linking = set(`and but so then now thus yet well`)

// drop takes linking words off the start of a sentence.
func drop(t string) string {
	for range 2 {
		first, rest, ok := strings.Cut(t, " ")
		if !ok || !linking[strings.ToLower(strings.TrimRight(first, ","))] || len(strings.Fields(rest)) < 6 {
			break
		}
		c, n := utf8.DecodeRuneInString(rest)
		t = string(unicode.ToUpper(c)) + rest[n:]
	}
	return t
}

// show makes a passage fit to be read outside its book: words set in capitals
// at its start and double hyphens are typesetting.
func show(t string) string {
	t = strings.ReplaceAll(uncap(t), "--", "—")
	return t
}

// uncap undoes the capitals with which books begin a chapter.
func uncap(t string) string {
	rest, done := t, 0
	for n := 0; ; n++ {
		end := strings.IndexAny(rest, " \n")
		if end < 0 {
			break
		}
		w := rest[:end]
		letters := strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) {
				return c
			}
			return -1
		}, w)
		if letters == "" || strings.ToUpper(letters) != letters || strings.ToLower(letters) == letters {
			break
		}
		if utf8.RuneCountInString(letters) == 1 && n == 0 && (letters == "I" || letters == "A" || letters == "O") {
			// Followed by more capitals or not: decided by the next word.
			next := strings.TrimLeft(rest[end:], " \n")
			e2 := strings.IndexAny(next, " \n")
			if e2 < 2 || strings.ToUpper(next[:e2]) != next[:e2] {
				break
			}
		}
		done += end + 1
		rest = rest[end+1:]
	}
	if done == 0 {
		return t
	}
	if first := strings.Fields(t[:done]); len(first) == 1 && utf8.RuneCountInString(strings.TrimFunc(first[0], func(c rune) bool { return !unicode.IsLetter(c) })) < 2 {
		return t
	}
	low := strings.ToLower(t[:done])
	at := strings.IndexFunc(low, unicode.IsLetter)
	c, n := utf8.DecodeRuneInString(low[at:])
	low = low[:at] + string(unicode.ToUpper(c)) + low[at+n:]
	low = loneI.ReplaceAllString(low, "I")
	return low + t[done:]
}

var loneI = regexp.MustCompile(`\bi\b`)

// isZhText reports a text written mostly in ideographs.
func isZhText(s string) bool { return hanShare(s) >= 0.3 }

// hanShare is the share of ideographs among the letters of s.
func hanShare(s string) float64 {
	han, letters := 0, 0
	for _, c := range s {
		if unicode.IsLetter(c) {
			letters++
			if unicode.Is(unicode.Han, c) {
				han++
			}
		}
	}
	if letters == 0 {
		return 0
	}
	return float64(han) / float64(letters)
}
