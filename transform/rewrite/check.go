// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Check is one named heuristic against prompts that nobody should be given.
type Check struct {
	Name string // the reason of what it sets aside, or the flag it leaves in Prompt.Quality
	Doc  string
	Flag bool // it only flags

	fault func(s *subject) string // why the prompt fails; "" when it passes
}

// subject is a prompt under the checks.
type subject struct {
	p     *schemas.Prompt
	r     *reading
	text  string
	lower string
	// own is the text without the passages of the source: what the prompt
	// itself says.
	own     string
	quote   int // quote_words
	words   int
	quoted  int // words of the source that stand in the prompt, in runs of runLength and more
	longest int // the longest of these runs
}

// Checks run in this order; the first that fails decides.
var Checks = []Check{
	{Name: "length", Doc: "a prompt has 15 to 2,000 words; an ideograph is a word", fault: checkLength},
	{Name: "language", Doc: "it is in one language, English or Chinese, and in that of its source", fault: checkLanguage},
	{Name: "markup", Doc: "no markup, entities, addresses, placeholders or typesetting is left in it", fault: checkMarkup},
	{Name: "mentions", Doc: "it names no data set, forum or book scanner, and speaks of no post or edit", fault: checkMentions},
	{Name: "offensive", Doc: "no slurs, and nothing sexual", fault: checkOffensive},
	{Name: "word_target", Doc: "it asks for the length it should ask for, once, and for no other", fault: checkTarget},
	{Name: "not_a_story", Doc: "it asks for a story in prose", fault: checkStory},
	{Name: "unanswerable", Doc: "everything it refers to is in it", fault: checkAnswerable},
	{Name: "broken", Doc: "its passages end like sentences, its brackets and quotation marks are closed", fault: checkBroken},
	{Name: "trivial", Doc: "it gives a writer something particular to work with", fault: checkTrivial},
	{Name: "leak", Doc: "it does not hold most of the story it was made from", fault: checkLeak},
	{Name: "quotes_source", Doc: "of a source that may not be passed on as text it quotes no more than quote_words in a row", fault: checkQuotes},
	{Name: "long", Doc: "more than 600 words", Flag: true, fault: func(s *subject) string { return when(s.words > 600, "it is long") }},
	{Name: "famous_name", Doc: "it names persons or worlds that belong to somebody", Flag: true, fault: checkFamous},
}

func when(bad bool, why string) string {
	if bad {
		return why
	}
	return ""
}

func newSubject(p *schemas.Prompt, r *reading, quote int) *subject {
	s := &subject{p: p, r: r, quote: max(1, quote), text: p.Prompt, lower: strings.ToLower(p.Prompt), words: text.WordsCJK(p.Prompt), own: p.Prompt}
	for _, e := range p.Elements {
		switch e.Role {
		case "premise", "opening", "outline", "ending", "request":
			for _, form := range []string{show(e.Text), point(e.Text, p.Language == "zh"), e.Text} {
				if before, after, ok := strings.Cut(s.own, form); ok && form != "" {
					s.own = before + "\n" + after
					break
				}
			}
		}
	}
	s.quoted, s.longest = sharedRuns(r.text, p.Prompt, p.Language == "zh")
	return s
}

func checkLength(s *subject) string {
	if s.words < 15 || s.words > 2000 {
		return fmt.Sprintf("it has %d words", s.words)
	}
	return ""
}

func checkLanguage(s *subject) string {
	share := hanShare(s.text)
	letters, foreign := 0, 0
	for _, c := range s.text {
		if unicode.IsLetter(c) {
			letters++
			if !unicode.Is(unicode.Latin, c) && !unicode.Is(unicode.Han, c) {
				foreign++
			}
		}
	}
	switch {
	case letters == 0:
		return "it has no letters"
	case foreign*10 > letters:
		return "more than a tenth of its letters are neither Latin nor Chinese"
	case s.p.Language == "zh" && share < 0.6:
		return fmt.Sprintf("%.0f %% of its letters are ideographs: it mixes two languages", share*100)
	case s.p.Language == "en" && share > 0.15:
		return fmt.Sprintf("%.0f %% of its letters are ideographs: it mixes two languages", share*100)
	case s.p.Language == "en" && !looksEnglish(s.text):
		return "it does not read as English"
	}
	if want := s.r.story.Language; want != "" && isZh(want) != (s.p.Language == "zh") && s.r.asked == "" {
		return "its source is " + want
	}
	return ""
}

// looksEnglish reports a text with as many of English's small words as any
// English text has.
func looksEnglish(t string) bool {
	n, all := 0, 0
	for _, w := range wordsOf(t) {
		all++
		switch w {
		case "the", "a", "an", "and", "of", "to", "in", "is", "was", "that", "it", "for", "with", "on", "his", "her", "you", "at", "by", "from":
			n++
		}
	}
	return n*12 >= all
}

var (
	markup = regexp.MustCompile(`(?i)</?[a-z][^>\n]{0,80}>|&(?:[a-z]{2,8}|#\d+);|https?://|www\.|\]\(|\[(?:illustration|note|removed|deleted|edit|\d+)[^\]]*\]|` +
		`<newline>|\{\{|\}\}|\{[a-z_]+\}|\[\s*(?:wp|eu|cw|tt|rf|pm|ip|mp|ot)\s*\]|` + "``|''|\\\\[nrt]|" + `-{4,}|\*{3,}|_{3,}|={3,}|~{3,}|�|\b(?:lorem ipsum)\b`)
	placeholder = regexp.MustCompile(`\[(?:your|insert|name|place|character|x|protagonist)[^\]]{0,40}\]|<(?:name|insert|your)[^>]*>|\bXXX+\b|\bTODO\b`)
	spacedMarks = regexp.MustCompile(`\w ,\w?| \.(?:\s|$)|\bdo n't\b|\b\w+ 's\b| n't\b`)
)

func checkMarkup(s *subject) string {
	if m := markup.FindString(s.text); m != "" {
		return fmt.Sprintf("it holds %q", clip(m))
	}
	if m := placeholder.FindString(s.text); m != "" {
		return fmt.Sprintf("it holds the placeholder %q", clip(m))
	}
	if n := len(spacedMarks.FindAllString(s.text, 4)); n >= 2 {
		return "its words and marks are parted as by a tokeniser"
	}
	if err := text.CheckFrozen(s.text); err != nil {
		return err.Error()
	}
	return ""
}

// mentioned are names and words that tell where a prompt comes from.
var mentioned = regexp.MustCompile(`(?i)\b(?:writing ?prompts?|long ?bench(?:[_-]?write)?|long ?lamp|longwriter|tell ?me ?a ?story corpus|storium|writing ?bench|wiki ?plots?|fairytale ?qa|narrative ?qa|project gutenberg|gutenberg|pglaf|` +
	`wikipedia|reddit|subreddit|redditors?|upvotes?|downvotes?|karma whor\w+|r/\w+|u/\w+|data ?set|training data|benchmark|the corpus|this (?:post|thread|sub|prompt)\b|original (?:post|poster)\b|OP\b|edit ?\d*:|tl;?dr|nsfw|simple prompt|prompt me|image prompt|theme thursday|constrained writing|text translation)`)

// Most prompts hold none of these; looking for them first spares the
// expressions, which took most of the time of a prompt.
var (
	mentionedNeeds = []string{"prompt", "bench", "lamp", "longwriter", "storium", "wiki", "fairytale", "narrative", "gutenberg", "pglaf", "reddit", "vote", "karma", "r/", "u/",
		"data", "corpus", "post", "this thread", "this sub", "op", "edit", "tl", "nsfw", "theme", "constrained", "text translation", "tell me a", "tellmea"}
	offensiveNeeds = []string{"nigg", "n1gg", "kike", "trann", "retard", "cunt", "porn", "job", "rap", "incest", "pedo", "paedo", "masturb", "orgasm", "ejac", "penis", "vagina", "dildo", "bang", "hentai",
		"wet themselves", "bladder", "强奸", "乱伦", "色情"}
)

func holdsAny(s string, list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(s, w) })
}

func checkMentions(s *subject) string {
	if !holdsAny(s.lower, mentionedNeeds) {
		return ""
	}
	if m := mentioned.FindString(s.text); m != "" {
		return fmt.Sprintf("it says %q", clip(m))
	}
	return ""
}

var offensive = regexp.MustCompile(`(?i)\b(?:n[i1]gg(?:er|a)s?|kikes?|trann(?:y|ies)|retards?|cunts?|porn\w*|blow ?jobs?|hand ?jobs?|rap(?:e|ed|es|ing|ist|ists)|incest\w*|pedophil\w*|paedophil\w*|masturbat\w*|orgasm\w*|ejaculat\w*|penis(?:es)?|vagina\w*|dildos?|gang ?bang\w*|hentai|wet themselves|bladder holding)\b|强奸|乱伦|色情`)

func checkOffensive(s *subject) string {
	if !holdsAny(s.lower, offensiveNeeds) {
		return ""
	}
	if m := offensive.FindString(s.text); m != "" {
		return "it holds words that a public set should not ask for"
	}
	return ""
}

func checkTarget(s *subject) string {
	lo, hi := s.p.MinWords, s.p.MaxWords
	found := 0
	for _, t := range targets(s.text) {
		switch {
		case t.unit == "characters", t.unit == "page" || t.unit == "pages" || t.unit == "character":
			continue // "three characters", "the next page": no length of the story
		case t.min == lo && t.max == hi:
			found++
		case !t.agrees(lo, hi):
			return fmt.Sprintf("it asks for %s, and the length wanted is %d to %d words", clip(t.at.Of(s.text)), lo, hi)
		case t.exact || t.min > 0 && t.max > 0:
			found++
		}
	}
	switch {
	case found == 0:
		return "it asks for no length"
	case found > 1:
		return "it asks for a length more than once"
	}
	return ""
}

func checkStory(s *subject) string {
	if s.r.story.Kind != schemas.KindQuery || !asks.MatchString(s.r.text) {
		return ""
	}
	if name, why := noStory(s.text); name == "not_a_story" {
		return why
	}
	return ""
}

var asksBack = regexp.MustCompile(`(?i)\b(?:what (?:do|would) you (?:think|write)|tell me (?:your|about your)|(?:what|tell (?:me|us)|who)[^.?]{0,12} your favou?rite|in the comments|anything you want|write whatever|surprise me|any (?:topic|genre|story) (?:you|of your)|first thing that comes)\b`)

func checkAnswerable(s *subject) string {
	if m := refers.FindString(s.own); m != "" && s.r.story.Kind != schemas.KindQuery {
		// The rules' own phrases refer to passages that they give.
		if !strings.Contains(english.words(), m) {
			return fmt.Sprintf("it refers to what is not in it: %q", m)
		}
	}
	if s.r.story.Kind == schemas.KindQuery {
		if _, why := noStory(s.r.text); why != "" && asks.MatchString(s.r.text) {
			return why
		}
		if goesOn.MatchString(s.text) && queryTask(s.text) != schemas.TaskContinuation {
			return "it asks to go on from a text that is not in it"
		}
	}
	if m := asksBack.FindString(s.text); m != "" {
		return fmt.Sprintf("it is a question to a forum: %q", m)
	}
	return ""
}

// words are all phrases of a book in one text.
func (b *book) words() string {
	var sb strings.Builder
	for _, t := range schemas.Tasks {
		for _, l := range [][]string{b.tasks[t].frames, b.tasks[t].craft, b.tasks[t].one, b.tasks[t].two, b.tasks[t].where} {
			sb.WriteString(strings.Join(l, "\n"))
		}
	}
	return sb.String()
}

func checkBroken(s *subject) string {
	for _, e := range s.p.Elements {
		switch e.Role {
		case "premise", "opening", "ending":
			if s.p.Engine == "rules" && e.In == sourceText && s.r.story.Kind == schemas.KindStory && !ends(e.Text) {
				return "its " + e.Role + " breaks off"
			}
		}
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s.text, "\"'”’)）」』*"))
	if !strings.ContainsRune(".!?…。！？:：", last) && s.r.story.Kind != schemas.KindQuery {
		return "it breaks off"
	}
	if strings.Count(s.text, "(") != strings.Count(s.text, ")") && plan.FindString(s.text) == "" || strings.Count(s.text, "“") != strings.Count(s.text, "”") && s.p.Engine == "rules" {
		return "a bracket or a quotation mark is not closed"
	}
	return ""
}

func checkTrivial(s *subject) string {
	content := map[string]bool{}
	base := s.text
	if s.p.Engine == "rules" {
		var b strings.Builder
		for _, e := range s.p.Elements {
			b.WriteString(e.Text + "\n")
		}
		base = b.String()
	}
	if s.p.Language == "zh" {
		for _, c := range base {
			if unicode.Is(unicode.Han, c) {
				content[string(c)] = true
			}
		}
		return when(len(content) < 14, fmt.Sprintf("%d different ideographs of content", len(content)))
	}
	for _, w := range wordsOf(base) {
		if len(w) > 2 && !common[w] && !asking[w] {
			content[stem(w)] = true
		}
	}
	least := 6
	if s.r.asked != "" || s.r.story.Kind == schemas.KindQuery { // an idea may be short
		least = 4
	}
	return when(len(content) < least, fmt.Sprintf("%d words of content", len(content)))
}

// asking are the words of which requests are made.
var asking = set("write writing story stories novel tale words word please help long short about create your own include character characters")

// maxShare is the share of a story's words that its prompt may hold.
const maxShare = 0.5

func checkLeak(s *subject) string {
	if s.r.story.Kind == schemas.KindQuery || s.r.summary() {
		return "" // the request is the prompt; a plot in brief is an outline
	}
	n := s.r.words
	if n > 0 && float64(s.quoted) > maxShare*float64(n) {
		return fmt.Sprintf("%d of the story's %d words stand in it", s.quoted, n)
	}
	return ""
}

func checkQuotes(s *subject) string {
	if s.r.story.Source.MayReleaseText() {
		return ""
	}
	limit := -1
	for _, e := range s.p.Elements { // a prompt that people wrote counts like the story
		if e.In == sourcePrompt {
			limit = max(limit, text.WordsCJK(e.Text))
		}
	}
	if s.longest > s.quote || limit > s.quote {
		return fmt.Sprintf("it takes %d words in a row from a text that may not be passed on", max(s.longest, limit))
	}
	return ""
}

// owned are names of persons and worlds with owners.
var owned = strings.Split(`Harry Potter|Hogwarts|Voldemort|Dumbledore|Batman|Superman|Spider-Man|Spiderman|Iron Man|Avengers|Star Wars|Jedi|Darth Vader|Pokémon|Pokemon|Pikachu|Super Mario|Legend of Zelda|`+
	`Westeros|Jon Snow|Daenerys|Gandalf|Hobbit|Middle-earth|Frodo|Disney|Simpsons|Doctor Who|Sherlock|Star Trek|MrBeast|Obama|Trump|Hitler|Putin|Penn and Teller|Walter White|Xiaolongnü|Yang Guo|三体|哈利·波特|哈利波特|漫威|钢铁侠`, "|")

func checkFamous(s *subject) string {
	for _, name := range owned {
		if i := strings.Index(s.text, name); i >= 0 {
			if c, _ := utf8.DecodeRuneInString(s.text[i+len(name):]); unicode.Is(unicode.Latin, c) {
				continue // trumpet
			}
			return "it names " + name
		}
	}
	return ""
}

// runLength is the number of words from which a run that prompt and source
// share is no chance.
const runLength = 8

var seed = maphash.MakeSeed()

// sharedRuns counts the words of source that stand in prompt in runs of
// runLength words and more, and the longest of the runs. Case and punctuation
// do not matter.
func sharedRuns(source, prompt string, zh bool) (words, longest int) {
	grams := map[uint64]bool{}
	ring := newRing()
	units(prompt, zh, func(u string) {
		if h, full := ring.add(u); full {
			grams[h] = true
		}
	})
	if len(grams) == 0 {
		return 0, 0
	}
	ring = newRing()
	run := 0
	units(source, zh, func(u string) {
		h, full := ring.add(u)
		switch {
		case full && grams[h] && run > 0:
			run++
			words++
		case full && grams[h]:
			run = runLength
			words += runLength
		default:
			run = 0
		}
		longest = max(longest, run)
	})
	return words, longest
}

// units calls f with the words of s in lower case; ideographs are words.
func units(s string, zh bool, f func(string)) {
	start := -1
	for i, c := range s {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		if zh && unicode.Is(unicode.Han, c) {
			if start >= 0 {
				f(strings.ToLower(s[start:i]))
				start = -1
			}
			f(s[i : i+utf8.RuneLen(c)])
			continue
		}
		if letter && start < 0 {
			start = i
		}
		if !letter && start >= 0 && c != '\'' && c != '’' {
			f(strings.ToLower(s[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		f(strings.ToLower(s[start:]))
	}
}

// ring hashes the last runLength units. Hashes differ from run to run; counts
// made with them do not.
type ring struct {
	last [runLength]uint64
	n    int
}

func newRing() *ring { return &ring{} }

func (r *ring) add(u string) (uint64, bool) {
	r.last[r.n%runLength] = maphash.String(seed, u)
	r.n++
	if r.n < runLength {
		return 0, false
	}
	h := uint64(1469598103934665603)
	for i := range runLength {
		h = (h ^ r.last[(r.n+i)%runLength]) * 1099511628211
		h ^= h >> 29
	}
	return h, true
}
