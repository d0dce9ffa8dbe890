// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// beats picks at most n sentences that tell the story in brief, in its order:
// the text is cut into n stretches of equal length, and of each the sentence is
// taken that its neighbours have most in common with (TextRank, Mihalcea and
// Tarau 2004: words shared over the logarithms of lengths, damping 0.85) among
// those that can stand alone. from and to bound the sentences looked at.
func (r *reading) beats(n, from, to int) []sentence {
	total := 0
	for _, s := range r.sents[from:to] {
		total += s.words
	}
	if total == 0 || n == 0 {
		return nil
	}
	var out []sentence
	at, done := from, 0
	for k := range n {
		end, sum := at, 0
		for end < to && (k == n-1 || done+sum < total*(k+1)/n) {
			sum += r.sents[end].words
			end++
		}
		if best, ok := r.best(at, end); ok {
			out = append(out, best)
		}
		at, done = end, done+sum
	}
	return out
}

// stretchMost bounds the sentences that are compared with one another.
const stretchMost = 60

// best is the most salient sentence of [from, to) that can stand alone.
func (r *reading) best(from, to int) (sentence, bool) {
	if to-from > stretchMost { // the middle of a long stretch
		mid := (from + to) / 2
		from, to = mid-stretchMost/2, mid+stretchMost/2
	}
	sents := r.sents[from:to]
	rank := textRank(r, sents)
	best, score := -1, 0.0
	for i, s := range sents {
		w := r.fitness(s)
		if w == 0 {
			continue
		}
		if v := w * (0.2 + rank[i]*float64(len(sents))); v > score+1e-12 {
			best, score = i, v
		}
	}
	if best < 0 {
		return sentence{}, false
	}
	return sents[best], true
}

// textRank ranks sentences; ranks sum to 1.
func textRank(r *reading, sents []sentence) []float64 {
	n := len(sents)
	bags := make([][]string, n)
	for i, s := range sents {
		bags[i] = r.terms(s)
	}
	sim := make([]float64, n*n)
	weight := make([]float64, n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			shared := overlap(bags[i], bags[j])
			if shared == 0 {
				continue
			}
			v := float64(shared) / (math.Log(float64(len(bags[i])+1)) + math.Log(float64(len(bags[j])+1)))
			sim[i*n+j], sim[j*n+i] = v, v
			weight[i] += v
			weight[j] += v
		}
	}
	rank, next := make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1 / float64(n)
	}
	const damping = 0.85
	for range 20 {
		for i := range n {
			sum := 0.0
			for j := range n {
				if w := sim[j*n+i]; w > 0 {
					sum += rank[j] * w / weight[j]
				}
			}
			next[i] = (1-damping)/float64(n) + damping*sum
		}
		rank, next = next, rank
	}
	return rank
}

// overlap counts the strings that two sorted lists share.
func overlap(a, b []string) int {
	n, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch strings.Compare(a[i], b[j]) {
		case -1:
			i++
		case 1:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

// terms are the content words of a sentence, or its pairs of ideographs,
// sorted, each once.
func (r *reading) terms(s sentence) []string {
	var out []string
	if r.zh {
		last := rune(0)
		for _, c := range r.of(s) {
			if !unicode.Is(unicode.Han, c) {
				last = 0
				continue
			}
			if last != 0 {
				out = append(out, string([]rune{last, c}))
			}
			last = c
		}
	} else {
		for _, w := range wordsOf(r.of(s)) {
			if len(w) > 2 && !common[w] {
				out = append(out, stem(w))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wordsOf are the words of a text in lower case, without punctuation.
func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '\'' && c != '’' })
}

// stem makes the commonest endings one: enough to count what recurs.
func stem(w string) string {
	for _, end := range []string{"'s", "’s", "ing", "ed", "es", "s"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) {
			return w[:len(w)-len(end)]
		}
	}
	return w
}

// common are words that tell nothing about a sentence.
var common = set(`the and that this with for was were had has have from they them their then than there here when where what which who whom whose
	his her hers him she its you your yours our ours are not but all any one two out into upon over under again very much more most some such only
	been being did does done can could would should shall will may might must about after before because until while though although these those
	said says say went come came gone like just also too yet nor own off down now how why every each other another own same thing things made make`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// fitness says how well a sentence stands alone in an outline, 0 for not at
// all.
func (r *reading) fitness(s sentence) float64 {
	t := r.of(s)
	if !plain(t) || !ends(t) {
		return 0
	}
	if r.zh {
		n := s.words
		if n < 12 || n > 90 || strings.ContainsAny(t, "“”「」『』\"") {
			return 0
		}
		if leans(t, true) {
			return 0.4
		}
		return 1
	}
	c := clause(t)
	words := len(strings.Fields(c))
	if words < 8 || words > 42 || shouts.MatchString(c) || strings.ContainsAny(c, "\"“”‘«»?") || quoted(c) {
		return 0
	}
	first := firstLetter(t)
	if !unicode.IsUpper(first) {
		return 0
	}
	w := 1.0
	if leans(drop(t), false) {
		w *= 0.2
	}
	if words < 12 {
		w *= 0.6
	}
	if words > 30 {
		w *= 0.7
	}
	if addresses(t) {
		w *= 0.2
	}
	f := wordsOf(c)
	head := strings.Join(f[:min(7, len(f))], " ")
	if hasRole(head) || named1(c) {
		w *= 2
	}
	if slices.ContainsFunc(f, func(v string) bool { return acts[v] }) {
		w *= 1.3
	}
	if strings.HasPrefix(head, "it was ") || strings.HasPrefix(head, "there was ") || strings.HasPrefix(head, "there were ") || strings.HasPrefix(head, "it is ") {
		w *= 0.6
	}
	if strings.HasSuffix(strings.TrimRight(t, " "), "!") {
		w *= 0.3
	}
	if slices.Contains(f, "i") && !r.first() {
		w *= 0.2
	}
	if slices.Contains(f, "however") || slices.Contains(f, "indeed") {
		w *= 0.7
	}
	return w
}

// shouts are words in capitals: emphasis that typesetting lost.
var shouts = regexp.MustCompile(`\b[A-Z]{4,}`)

// acts are verbs of what moves a story on.
var acts = set(`went took gave found killed married stole fell brought sent caught threw cut sold bought ran fled hid built burned broke
	opened climbed followed reached returned arrived promised ordered asked begged agreed refused decided discovered hunted fought won lost died
	woke jumped carried seized pulled dragged chased escaped rescued saved turned changed left led rode sailed swam met drank ate hung buried
	planted dug struck shot tied locked stabbed kissed swore cursed vanished appeared learned demanded offered set threw laid became began`)

// named1 reports a name near a sentence's start, not as its first word alone.
func named1(t string) bool {
	f := strings.Fields(t)
	for i, w := range f[:min(6, len(f))] {
		c := firstLetter(w)
		if i > 0 && unicode.IsUpper(c) && len(w) > 2 {
			return true
		}
	}
	return false
}

// first reports a story told in the first person.
func (r *reading) first() bool {
	if r.person == 0 {
		r.person = 3
		n := 0
		for _, s := range r.sents {
			if t := r.of(s); !spoken(t) && slices.Contains(wordsOf(t), "i") {
				n++
			}
		}
		if n*6 > len(r.sents) {
			r.person = 1
		}
	}
	return r.person == 1
}

// quoted reports speech between single quotes: 'Come,' said he.
func quoted(s string) bool {
	return strings.HasPrefix(s, "'") || strings.Contains(s, " '") || strings.Contains(s, ",' ") || closes.MatchString(s)
}

// closes is the end of speech between typographic single quotes.
var closes = regexp.MustCompile(`[,.!?]’`)

// clause is a sentence up to its first semicolon, colon or dash where it is
// long and what stands before can stand alone: old tales join many of them.
func clause(t string) string {
	if len(strings.Fields(t)) <= 30 {
		return t
	}
	at := -1
	for _, mark := range []string{";", "--", "—", ": "} {
		for from := 0; ; {
			i := strings.Index(t[from:], mark)
			if i < 0 {
				break
			}
			i += from
			n := len(strings.Fields(t[:i]))
			if n > 30 {
				break
			}
			if n >= 8 && i > at {
				at = i
			}
			from = i + len(mark)
		}
	}
	if at < 0 {
		return t
	}
	return strings.TrimRight(t[:at], " ,")
}

func firstLetter(s string) rune {
	for _, c := range s {
		if unicode.IsLetter(c) {
			return c
		}
	}
	return 0
}

// leaning are first words that need what stood before: pronouns without the
// one they stand for, words that go on from a sentence.
var leaning = set(`he she it they them his her its their him this that these those but and so or yet therefore thus hence however besides
	moreover nevertheless otherwise such here meantime meanwhile presently afterwards accordingly here's only even where how why
	what yes no well still indeed perhaps all there's it's he's she's they're which who whose nor both neither either`)

var leaningZh = []string{"他", "她", "它", "这", "那", "但", "可是", "然而", "于是", "所以", "因此", "不过", "而", "并且", "然后", "接着", "此外", "同时", "其"}

// leans reports a sentence that cannot be understood without the one before.
func leans(t string, zh bool) bool {
	if zh {
		for _, w := range leaningZh {
			if strings.HasPrefix(t, w) {
				return true
			}
		}
		return false
	}
	f := wordsOf(t)
	if len(f) == 0 {
		return true
	}
	if f[0] == "there" || f[0] == "such" && len(f) > 1 && f[1] == "was" {
		return false
	}
	return leaning[f[0]]
}

// addresses reports that a narrator speaks to the reader.
func addresses(t string) bool {
	for _, w := range wordsOf(t) {
		switch w {
		case "reader", "you", "thou", "ye", "we", "us", "our":
			return true
		}
	}
	return false
}

// plain reports a text without marks of typesetting or markup.
func plain(t string) bool {
	return !strings.ContainsAny(t, "[]{}<>|*_#=\\/@~^") && !strings.Contains(t, "...  ")
}
