// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
)

// The offline judge. It knows a handful of attributes that a person has once
// and for all, or that only change with time, and reports two statements about
// the same name that give different values:
//
//	appearance_mismatches         colour of the eyes, of the hair
//	nomenclature_confusions       name of the mother, the father, the husband, the wife
//	quantitative_mismatches       age; number of brothers, sisters, sons, daughters, children
//	absolute_time_contradictions  year of birth
//
// English statements with the name in them, and a few Chinese ones; no
// pronouns, no inference. It is meant to be right where it speaks, and misses
// nearly everything: a story without findings of these rules is not a
// consistent story. Only two of the five categories are answered; for the
// others there is no rule, and the report says that they were not judged.

// attribute is one thing that the rules know.
type attribute struct {
	category, subtype string
	element           string
	words             []string         // a sentence without any of them states nothing of the kind
	forms             []*regexp.Regexp // over one sentence; groups: name, value, what
	value             func(string) (string, bool)
	// changes reports whether the text between two statements, or around them,
	// may account for the difference: a birthday, a second wife.
	changes func(between, first, second string, a, b string) bool
}

const (
	nameRE  = `(?P<name>\p{Lu}[\p{Ll}'’]+(?: \p{Lu}[\p{Ll}]+)?)`
	zhName  = `(?:^|[。！？，；：、“”\s])(?P<name>\p{Han}{2,3}?)`
	adjRE   = `(?:(?:\p{Ll}+),? ){0,2}?`
	numWord = `\d{1,3}|[a-z]+(?:-[a-z]+)?`
)

var attributes = []attribute{
	{
		category: "factual_detail", subtype: "appearance_mismatches", element: "colour of the eyes", words: []string{"eyes", "眼睛"},
		forms: forms(
			nameRE+`['’]s `+adjRE+`(?P<value>COLOUR)(?:-| )?(?:coloured |colored )?eyes\b`,
			nameRE+`['’]s eyes (?:were|are) (?:a |an )?`+adjRE+`(?P<value>COLOUR)\b`,
			nameRE+` (?:had|has) (?:a pair of )?`+adjRE+`(?P<value>COLOUR) eyes\b`,
			zhName+`(?:有一双|长着一双|有着)?的?(?P<value>ZHCOLOUR)色?的?眼睛`,
			zhName+`的眼睛是(?P<value>ZHCOLOUR)`,
		),
		value: colour,
	},
	{
		category: "factual_detail", subtype: "appearance_mismatches", element: "colour of the hair", words: []string{"hair", "头发"},
		forms: forms(
			nameRE+`['’]s `+adjRE+`(?P<value>HAIR) hair\b`,
			nameRE+`['’]s hair (?:was|is) `+adjRE+`(?P<value>HAIR)\b`,
			nameRE+` (?:had|has) `+adjRE+`(?P<value>HAIR) hair\b`,
			zhName+`的头发是(?P<value>ZHCOLOUR)`,
		),
		value: hair,
		changes: func(between, first, second, a, b string) bool {
			return dyed.MatchString(first+between+second) || (a == "grey" || b == "grey") && timePasses.MatchString(between+second)
		},
	},
	{
		category: "factual_detail", subtype: "nomenclature_confusions", element: "name of a relative", words: []string{"mother", "father", "husband", "wife"},
		forms: forms(
			`(?P<name>\p{Lu}[\p{Ll}]+['’]s (?:mother|father|husband|wife)), (?P<value>\p{Lu}\p{Ll}+),`,
			`(?P<name>\p{Lu}[\p{Ll}]+['’]s (?:mother|father|husband|wife)),? (?:was|is|who was) (?:called|named) (?P<value>\p{Lu}\p{Ll}+)\b`,
		),
		value:   func(s string) (string, bool) { return s, true },
		changes: func(between, first, second, _, _ string) bool { return remarried.MatchString(first + between + second) },
	},
	{
		category: "factual_detail", subtype: "quantitative_mismatches", element: "age", words: []string{"years old", "year-old", " aged ", "岁"},
		forms: forms(
			nameRE+`,? (?:was|is) (?:only |just |barely |now |exactly )?(?P<value>NUMBER) years old\b`,
			nameRE+`, (?:aged (?P<value>NUMBER)|(?P<value2>NUMBER) years old),`,
			`\b(?P<value>NUMBER)-year-old `+nameRE,
			zhName+`(?:今年|已经|才|刚满|刚刚)?(?P<value>[0-9]{1,3}|[一二三四五六七八九十百]{1,4})岁`,
		),
		value: number,
		changes: func(between, first, second, a, b string) bool {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			if flashback.MatchString(between + second) {
				return true
			}
			return y > x && timePasses.MatchString(yearsOld.ReplaceAllString(first+" "+between+" "+second, ""))
		},
	},
	{
		category: "factual_detail", subtype: "quantitative_mismatches", element: "number of siblings or children", words: []string{"brother", "sister", "son", "daughter", "children"},
		forms: forms(
			`(?P<name>\p{Lu}[\p{Ll}]+) (?:had|has) (?:only |just |exactly )?(?P<value>NUMBER) (?P<what>brothers?|sisters?|sons?|daughters?|children)\b`,
		),
		value: number,
		changes: func(between, first, second, _, _ string) bool {
			return familyChanges.MatchString(first + between + second)
		},
	},
	{
		category: "timeline_plot", subtype: "absolute_time_contradictions", element: "year of birth", words: []string{" born ", "生于"},
		forms: forms(
			nameRE+` (?:was|had been) born (?:[\p{L}0-9 ,]{0,40}? )?in (?:the year )?(?P<value>1\d{3}|20\d\d)\b`,
			zhName+`(?:出)?生于(?P<value>1\d{3}|20\d\d)年`,
		),
		value: number,
	},
}

var (
	timePasses    = regexp.MustCompile(`(?i)\b(years?|birthday|grew|grown|later|winters?|summers?|autumns?|springs?|decades?|months?|turned|seasons?)\b|年|后来|生日|长大`)
	flashback     = regexp.MustCompile(`(?i)\b(ago|remembered|recalled|had been|when (?:he|she|they|I) (?:was|were)|as a (?:boy|girl|child)|back then|once|in those days|earlier|before|youth|childhood|diary|photograph)\b|当年|小时候|回忆|以前|从前|曾经`)
	yearsOld      = regexp.MustCompile(`(?i)\byears old\b|\byear-old\b`)
	dyed          = regexp.MustCompile(`(?i)\b(dyed?|dying|bleach\w*|wig|coloured|colored|sun|snow|dust|ash|soot|flour|paint\w*)\b|染|假发`)
	remarried     = regexp.MustCompile(`(?i)\b(remarried|married again|second|third|late|former|first|step\w*|foster|divorced?|widow\w*|adopted)\b`)
	familyChanges = regexp.MustCompile(`(?i)\b(born|died|dead|lost|buried|killed|birth|older|younger|elder|other|more|left|adopted|half|step\w*|drowned|remaining|once)\b`)
)

// notNames are words that begin a sentence and are nobody's name.
var notNames = strings.Fields(`The A An He She It They We You I His Her Its Their Our My Your This That These Those There Here When While
	Where What Who Why How If But And Or So Then Now One Two Three Only Even Still Yet Not No Yes All Both Each Every Some Many Most
	Another Other Such As At In On Of For From With Without By To Until After Before Since Because Although Though Once Never Ever
	Old Young Little Big Poor Dear Everyone Everybody Nobody Somebody Someone Nothing Something`)

var colours = map[string]string{
	"blue": "blue", "azure": "blue", "sapphire": "blue", "green": "green", "emerald": "green", "brown": "brown", "chestnut": "brown",
	"grey": "grey", "gray": "grey", "hazel": "hazel", "violet": "violet", "amber": "amber", "black": "black",
	"蓝": "blue", "绿": "green", "棕": "brown", "褐": "brown", "灰": "grey", "黑": "black", "紫": "violet",
}

var hairs = map[string]string{
	"black": "black", "raven": "black", "brown": "brown", "chestnut": "brown", "blond": "blond", "blonde": "blond", "golden": "blond", "flaxen": "blond",
	"red": "red", "auburn": "red", "ginger": "red", "grey": "grey", "gray": "grey", "white": "grey", "silver": "grey",
	"棕": "brown", "褐": "brown", "灰": "grey", "黑": "black",
}

func hair(s string) (string, bool) { c, ok := hairs[strings.ToLower(s)]; return c, ok }

func colour(s string) (string, bool) { c, ok := colours[strings.ToLower(s)]; return c, ok }

var units = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
var tens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")

// number reads a number below 1,000 in digits, or below 100 in English or
// Chinese words, as digits.
func number(s string) (string, bool) {
	s = strings.ToLower(s)
	if n, err := strconv.Atoi(s); err == nil {
		return strconv.Itoa(n), true
	}
	if n := slices.Index(units, s); n > 0 {
		return strconv.Itoa(n), true
	}
	a, b, two := strings.Cut(s, "-")
	if n := slices.Index(tens, a); n > 1 {
		if !two {
			return strconv.Itoa(10 * n), true
		}
		if u := slices.Index(units, b); u > 0 && u < 10 {
			return strconv.Itoa(10*n + u), true
		}
		return "", false
	}
	return chineseNumber(s)
}

func chineseNumber(s string) (string, bool) {
	digits := []rune("零一二三四五六七八九")
	n, last, seen := 0, 0, false
	for _, r := range s {
		switch {
		case r == '百':
			n, last, seen = n+100*max(last, 1), 0, true
		case r == '十':
			n, last, seen = n+10*max(last, 1), 0, true
		default:
			d := slices.Index(digits, r)
			if d < 0 {
				return "", false
			}
			last, seen = d, true
		}
	}
	return strconv.Itoa(n + last), seen
}

// forms compiles patterns, with the lists of words put in.
func forms(patterns ...string) []*regexp.Regexp {
	var en, zh []string
	for c := range colours {
		if c[0] < 0x80 {
			en = append(en, c)
		} else {
			zh = append(zh, c)
		}
	}
	slices.Sort(en)
	slices.Sort(zh)
	var hair []string
	for h := range hairs {
		if h[0] < 0x80 {
			hair = append(hair, h)
		}
	}
	slices.Sort(hair)
	r := strings.NewReplacer("ZHCOLOUR", strings.Join(zh, "|"), "COLOUR", strings.Join(en, "|"), "HAIR", strings.Join(hair, "|"), "NUMBER", numWord)
	var out []*regexp.Regexp
	for _, p := range patterns {
		out = append(out, regexp.MustCompile(r.Replace(p)))
	}
	return out
}

// statement is one place where the text gives an attribute.
type statement struct {
	name, value string
	at          text.Range // of the match
	sentence    text.Range
}

// statements returns where the story states the attribute, in order.
func (a attribute) statements(story string, sentences []text.Range) []statement {
	var out []statement
	for _, sentence := range sentences {
		said := sentence.Of(story)
		if !slices.ContainsFunc(a.words, func(w string) bool { return strings.Contains(said, w) }) {
			continue
		}
		for _, re := range a.forms {
			for _, m := range re.FindAllStringSubmatchIndex(said, -1) {
				group := func(name string) string {
					if i := re.SubexpIndex(name); i > 0 && m[2*i] >= 0 {
						return said[m[2*i]:m[2*i+1]]
					}
					return ""
				}
				v, ok := a.value(cmp.Or(group("value"), group("value2")))
				if !ok {
					continue
				}
				name := group("name")
				first, rest, _ := strings.Cut(name, " ")
				if slices.Contains(notNames, first) {
					if rest == "" || slices.Contains(notNames, rest) {
						continue
					}
					name = rest
				}
				out = append(out, statement{strings.TrimSpace(name + " " + strings.TrimSuffix(group("what"), "s")), v,
					text.Range{Start: sentence.Start + m[0], End: sentence.Start + m[1]}, sentence})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y statement) int { return x.at.Start - y.at.Start })
	return out
}

// ruleAnswer judges a category by the rules, in the form in which a model
// would answer. For a category without rules it gives [llm.ErrNoRule].
func ruleAnswer(in referenceInput) (string, error) {
	type item struct {
		Fact    string `json:"fact_quote"`
		Contra  string `json:"contradiction_pair"`
		Element string `json:"error_element"`
		Kind    string `json:"error_category"`
		Context string `json:"context"`
	}
	lists := map[string][]item{}
	known := false
	sentences := text.Sentences(in.Story)
	for _, a := range attributes {
		if a.category != in.Category.Name {
			continue
		}
		known = true
		said := a.statements(in.Story, sentences)
		// Each statement is held against the latest earlier one of the name: a
		// value that was contradicted once is not reported again and again.
		last := map[string]statement{}
		for _, s := range said {
			p, ok := last[s.name]
			last[s.name] = s
			if !ok || p.value == s.value || s.at.Start < p.at.End || p.sentence == s.sentence {
				continue
			}
			between := in.Story[p.at.End:s.at.Start]
			if a.changes != nil && a.changes(between, p.sentence.Of(in.Story), s.sentence.Of(in.Story), p.value, s.value) {
				continue
			}
			lists[a.subtype] = append(lists[a.subtype], item{p.sentence.Of(in.Story), s.sentence.Of(in.Story), a.element, a.subtype,
				s.name + ": " + p.value + " in one place, " + s.value + " in another (" + a.element + ")"})
		}
	}
	if !known {
		return "", llm.ErrNoRule
	}
	// In the order of the taxonomy, every key present.
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range in.Subtypes {
		if i > 0 {
			b.WriteByte(',')
		}
		list := lists[name]
		if list == nil {
			list = []item{}
		}
		v, err := json.Marshal(list)
		if err != nil {
			return "", err
		}
		b.WriteString(strconv.Quote(name) + ":")
		b.Write(v)
	}
	b.WriteByte('}')
	return b.String(), nil
}
