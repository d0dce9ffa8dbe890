// SPDX-License-Identifier: Apache-2.0

package longlamp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shape is what the narrative test counts in a text, quoted speech left out.
type Shape struct {
	Words     int
	Past      int // forms of the past tense
	Present   int // is, are, can, should and the like
	Persons   int // I, he, she, they and their forms
	You       int // you and its forms
	Sentences int
	Questions int // of Sentences
	Lines     int
	Listed    int // of Lines: list items, headings, links, table rows
	Quotes    int // stretches of quoted speech
	Speech    int // says, said, asked and their kin
}

// Measure counts.
func Measure(s string) Shape {
	var m Shape
	quoted := false
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			quoted = false // a quotation nobody closed
			continue
		}
		m.Lines++
		if listed(line) {
			m.Listed++
		}
		for len(line) > 0 {
			n := strings.IndexByte(line, ' ')
			if n < 0 {
				n = len(line)
			}
			if field := line[:n]; field != "" {
				if in := m.quotes(field, &quoted); !in {
					m.word(field)
				}
			}
			line = line[min(n+1, len(line)):]
		}
	}
	return m
}

// quotes follows quotation marks and reports whether any of field is inside
// them.
func (m *Shape) quotes(field string, quoted *bool) (in bool) {
	in = *quoted
	for i := 0; i < len(field); i++ {
		switch {
		case field[i] == '"':
			*quoted = !*quoted
		case strings.HasPrefix(field[i:], "“"):
			*quoted = true
		case strings.HasPrefix(field[i:], "”"):
			*quoted = false
			continue
		default:
			continue
		}
		if *quoted {
			in = true
			m.Quotes++
		}
	}
	return in
}

// word counts one field of the text.
func (m *Shape) word(field string) {
	// The word's letters in lower case, with its apostrophe; no word of the
	// lists is longer than the buffer.
	var buf [24]byte
	n, apostrophe, long := 0, -1, false
	last := byte(0) // the last mark of a sentence behind the word
	for i := 0; i < len(field); {
		c := field[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
			fallthrough
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			last = 0
			if n < len(buf) {
				buf[n] = c
				n++
			} else {
				long = true
			}
			i++
			continue
		case c == '.' || c == '!' || c == '?':
			last = c
		case c == '\'' || strings.HasPrefix(field[i:], "’"):
			if n > 0 && apostrophe < 0 && n < len(buf) {
				apostrophe = n
				buf[n] = '\''
				n++
			}
		}
		_, size := utf8.DecodeRuneInString(field[i:])
		i += size
	}
	if last != 0 {
		m.Sentences++
		if last == '?' {
			m.Questions++
		}
	}
	if apostrophe >= 0 && apostrophe == n-1 {
		n, apostrophe = n-1, -1 // a closing quote
	}
	if n == 0 {
		if strings.IndexFunc(field, unicode.IsLetter) >= 0 {
			m.Words++ // of another script
		}
		return
	}
	m.Words++
	if long {
		return
	}
	word, base, clitic := buf[:n], buf[:n], ""
	if apostrophe > 0 {
		base, clitic = buf[:apostrophe], string(buf[apostrophe+1:n])
	}
	class := classes[string(word)]
	if apostrophe > 0 {
		class |= classes[string(base)]
	}
	switch {
	case class&past != 0, class&notPast == 0 && n > 4 && buf[n-1] == 'd' && buf[n-2] == 'e':
		m.Past++
	case class&present != 0:
		m.Present++
	}
	if class&speech != 0 {
		m.Speech++
	}
	switch clitic {
	case "d":
		m.Past++
	case "s", "re", "ve", "ll", "m":
		if class&(person|you) != 0 {
			m.Present++
		}
	}
	switch {
	case class&person != 0:
		m.Persons++
	case class&you != 0:
		m.You++
	}
}

// listed reports a line that lists, heads or links rather than tells.
func listed(line string) bool {
	if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "http") || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "• ") || strings.HasPrefix(line, "·") {
		return true
	}
	i := 0
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	return i > 0 && i < 4 && i < len(line) && (line[i] == '.' || line[i] == ')')
}

// Bounds of the narrative test, a hundred words or sentences each. They were
// set on real texts: see TestNarrativeOnRealTexts for the figures they reach.
const (
	leastWords   = 60   // outside quotations; below that nothing can be counted
	leastPast    = 4.0  // past forms in 100 words
	leastRatio   = 55.0 // past forms in 100 past and present ones
	leastPersons = 3.0  // I, he, she, they in 100 words
	mostYou      = 3.0  // you in 100 words
	mostListed   = 15.0 // lines of 100 that are list items, headings or links
	mostAsked    = 25.0 // questions in 100 sentences
	leastSpeech  = 3    // stretches of quoted speech with a verb of speaking, in place of past tense
)

// Narrative says whether a text tells what happened to somebody, and if not,
// why. It asks for events (past tense, more of it than of present and advice;
// or people who speak), for people they happen to, and for little of what posts
// that are no stories have: address of the reader, lists, questions.
//
// It errs on the side of leaving out: a story in the present tense without
// dialogue fails it. An account of one's own day passes.
func Narrative(s string) (ok bool, why string) {
	m := Measure(s)
	spoken := m.Quotes >= leastSpeech && m.Speech > 0
	share := func(n, of int) float64 { return float64(n) * 100 / float64(max(of, 1)) }
	for _, c := range []struct {
		bad  bool
		what string
		n    float64
	}{
		{m.Words < leastWords, "words outside quotations", float64(m.Words)},
		{share(m.Listed, m.Lines) > mostListed, "% of its lines are list items, headings or links", share(m.Listed, m.Lines)},
		{!spoken && share(m.Past, m.Words) < leastPast, "past forms in 100 words", share(m.Past, m.Words)},
		{!spoken && share(m.Past, m.Past+m.Present) < leastRatio, "% of its tensed forms are past", share(m.Past, m.Past+m.Present)},
		{share(m.Persons, m.Words) < leastPersons, "words for persons in 100", share(m.Persons, m.Words)},
		{share(m.You, m.Words) > mostYou, "times you in 100 words", share(m.You, m.Words)},
		{share(m.Questions, m.Sentences) > mostAsked, "% of its sentences are questions", share(m.Questions, m.Sentences)},
	} {
		if c.bad {
			return false, fmt.Sprintf("%.0f %s", c.n, c.what)
		}
	}
	return true, ""
}

// Classes of words.
const (
	past = 1 << iota
	notPast
	present
	person
	you
	speech
)

var classes = func() map[string]uint8 {
	m := map[string]uint8{}
	for class, words := range map[uint8]string{past: pastWords, notPast: notPastWords, present: presentWords, person: personWords, you: youWords, speech: speechWords} {
		for _, w := range strings.Fields(words) {
			m[w] |= class
		}
	}
	return m
}()

const (
	personWords = "i me my mine myself he him his himself she her hers herself they them their theirs themselves we us our ours ourselves"
	youWords    = "you your yours yourself yourselves u ur"
	// Irregular past forms that are nothing else, with the commonest verbs of
	// being.
	pastWords = `was were had did wasn weren hadn didn said told asked went came took got gave made saw knew thought felt found left
		kept held heard brought began ran stood sat lay fell rose spoke broke woke wrote drove rode flew grew threw drew blew caught bought taught fought
		sought slept wept crept swept met lost sent spent built lent bent paid laid meant led fed fled sped shook stole chose froze wore tore swore bore
		swam sang rang drank sank shrank sprang stank hid bit slid lit shot won became forgot understood stuck struck hung dug spun clung flung swung
		stung shone could would couldn wouldn knelt leapt dreamt burnt leant ate gone done been seen taken given fallen broken`
	speechWords = `say says said ask asks asked reply replies replied answer answers answered whisper whispers whispered yell yells yelled shout shouts
		shouted cry cries cried mutter mutters muttered murmured exclaimed scream screams screamed sigh sighs sighed laugh laughs laughed`
	notPastWords = `need needed indeed speed exceed proceed succeed bleed breed hundred sacred naked wicked embed related based used detailed required limited advanced
		united combined integrated balanced focused unified distributed automated embedded weighted`
	presentWords = `is are am can should must may shall will has have do does isn aren don doesn can't won let's need want think know`
)
