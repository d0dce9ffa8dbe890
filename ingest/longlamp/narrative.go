// SPDX-License-Identifier: Apache-2.0

package longlamp

import (
	"fmt"
	"strings"
	"unicode"
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
	for _, line := range strings.Split(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			quoted = false
			continue
		}
		m.Lines++
		if listed(line) {
			m.Listed++
		}
		for _, field := range strings.Fields(line) {
			in := quoted
			for _, r := range field {
				switch r {
				case '“':
					quoted, in = true, true
					m.Quotes++
				case '”':
					quoted = false
				case '"':
					if quoted = !quoted; quoted {
						in = true
						m.Quotes++
					}
				}
			}
			if in {
				continue
			}
			m.word(field)
		}
	}
	return m
}

func (m *Shape) word(field string) {
	w := strings.ToLower(strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	w = strings.ReplaceAll(w, "’", "'")
	if w == "" {
		return
	}
	m.Words++
	switch end := strings.TrimRight(field, `)*_"”'’`); {
	case strings.HasSuffix(end, "?"):
		m.Questions++
		m.Sentences++
	case strings.HasSuffix(end, "."), strings.HasSuffix(end, "!"):
		m.Sentences++
	}
	base, clitic, _ := strings.Cut(w, "'")
	switch {
	case pastWords[base] || pastWords[w]:
		m.Past++
	case len(w) > 4 && strings.HasSuffix(w, "ed") && !notPast[w]:
		m.Past++
	case presentWords[base] || presentWords[w]:
		m.Present++
	}
	if speechWords[w] {
		m.Speech++
	}
	switch clitic {
	case "d":
		m.Past++
	case "s", "re", "ve", "ll", "m":
		if personWords[base] || youWords[base] {
			m.Present++
		}
	}
	switch {
	case personWords[base]:
		m.Persons++
	case youWords[base]:
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

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	personWords = set("i me my mine myself he him his himself she her hers herself they them their theirs themselves we us our ours ourselves")
	youWords    = set("you your yours yourself yourselves u ur")
	// Irregular past forms that are nothing else, with the commonest verbs of
	// being.
	pastWords = set(`was were had did wasn weren hadn didn said told asked went came took got gave made saw knew thought felt found left
		kept held heard brought began ran stood sat lay fell rose spoke broke woke wrote drove rode flew grew threw drew blew caught bought taught fought
		sought slept wept crept swept met lost sent spent built lent bent paid laid meant led fed fled sped shook stole chose froze wore tore swore bore
		swam sang rang drank sank shrank sprang stank hid bit slid lit shot won became forgot understood stuck struck hung dug spun clung flung swung
		stung shone could would couldn wouldn knelt leapt dreamt burnt leant ate gone done been seen taken given fallen broken`)
	speechWords = set(`say says said ask asks asked reply replies replied answer answers answered whisper whispers whispered yell yells yelled shout shouts
		shouted cry cries cried mutter mutters muttered murmured exclaimed scream screams screamed sigh sighs sighed laugh laughs laughed`)
	notPast = set(`need needed indeed speed exceed proceed succeed bleed breed hundred sacred naked wicked embed related based used detailed required limited advanced
		united combined integrated balanced focused unified distributed automated embedded weighted`)
	presentWords = set(`is are am can should must may shall will has have do does isn aren don doesn can't won let's need want think know`)
)
