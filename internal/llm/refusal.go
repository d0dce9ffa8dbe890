// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// refusalMax is the longest text, in code points, that is looked at for a
// refusal. Refusals with a lecture attached stay below; stories do not.
const refusalMax = 1500

// A refusal in words: an apology or a statement of inability in the first
// person, about the act of answering. The verb matters: "I'm sorry, but I
// can't go with you" is a story. A quotation mark in front makes it speech.
var refusalRE = regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
	// I'm sorry, (but) I can't help with that. / As an AI, I cannot create …
	`(?:(?:i['’]?m|i am|we['’]?re) (?:very |so |really |truly )?(?:sorry|afraid)|sorry|apologies|my apologies|i apologi[sz]e|unfortunately|regrettably|as an? (?:ai|large language|language|artificial)[^.!?\n]{0,60})[,.;:!—– -]*(?:but |however,? |that )?` + cannot + ` ` + adverb + act,
	// I can't assist with that request.
	cannot + ` ` + adverb + act,
	`(?:i['’]?m|i am) (?:just |only )?an ai\b[^.!?\n]{0,80}` + cannotBare,
	`(?:this|the|your) (?:request|content|prompt|story|text) (?:violates|goes against|is against|may violate|conflicts with)`,
	`(?:i['’]?m sorry|sorry)[,.;:! -]*(?:but )?(?:this|the|your|that) (?:request|content|prompt|topic)\b`,
	// other languages, in their commonest form
	`(?:很?抱歉|对不起|非常抱歉)[，,。 ]*(?:但|不过)?我?(?:无法|不能|没有办法)`,
	`我(?:无法|不能)(?:协助|帮助|提供|满足|完成|回答|生成|创作)`,
	`申し訳(?:ありません|ございません)`,
	`es tut mir leid[,. ]*(?:aber )?(?:ich kann|dabei kann|das kann|dem kann)`,
	`(?:je suis désolée?|désolée?)[,. ]*(?:mais )?je ne (?:peux|puis)`,
	`lo siento[,. ]*(?:pero )?no puedo`,
	`(?:mi dispiace)[,. ]*(?:ma )?non posso`,
	`(?:desculpe|sinto muito)[,. ]*(?:mas )?(?:eu )?não posso`,
	`(?:извините|к сожалению|простите)[,. ]*(?:но )?я не могу`,
}, "|") + `)`)

const (
	cannot     = `(?:i|we) (?:can['’]?t|can ?not|could ?n['’]?t|won['’]?t|will not|(?:['’]?m|am|are|['’]re) (?:not able to|unable to|not allowed to|not permitted to|not going to|not comfortable)|do not feel comfortable|don['’]t feel comfortable|must (?:decline|refuse)|have to (?:decline|refuse)|need to decline|decline|refuse)`
	cannotBare = `(?:can['’]?t|can ?not|not able to|unable to|won['’]?t)`
	adverb     = `(?:to |in good conscience |directly |actually |really |personally )*`
	act        = `(?:(?:help|helping|assist|assisting|comply|complying|fulfil|fulfill|fulfilling|provide|providing|continue|continuing|creat(?:e|ing)|writ(?:e|ing)|generat(?:e|ing)|produc(?:e|ing)|engag(?:e|ing)|discuss|discussing|answer|answering|support|supporting|complet(?:e|ing)|process|processing|respond|responding|participat(?:e|ing)|satisfy|do|doing|accommodate|proceed|share|offer|rewrite|analy[sz]e|review)\b(?: (?:you )?(?:with|in|further|that|this|those|these|such|your|any|the|an?|content|stories|explicit|violent|harmful)\b|[.!,]|$)|with (?:that|this)|that request|this request|your request)`
)

// LooksLikeRefusal reports whether a text is a refusal in words: short, without
// the structure that was asked for, and beginning with one.
func LooksLikeRefusal(text string) bool {
	if len(text) > 4*refusalMax {
		return false
	}
	t := strings.TrimSpace(text)
	t = strings.TrimLeft(t, "*_# ")
	if t == "" || utf8.RuneCountInString(t) > refusalMax {
		return false
	}
	return mayRefuse(t) && refusalRE.MatchString(t)
}

// mayRefuse looks at the first letters only: most answers do not begin like a
// refusal, and the expression costs 20 µs.
func mayRefuse(t string) bool {
	if t[0] >= utf8.RuneSelf {
		return true
	}
	const longest = 12
	head := strings.ToLower(t[:min(len(t), longest)])
	for _, p := range refusalHeads {
		if strings.HasPrefix(head, p) {
			return true
		}
	}
	return false
}

// refusalHeads are the beginnings of everything that refusalRE matches, where
// it begins with ASCII.
var refusalHeads = []string{
	"i ", "i'", "i\xe2", "we ", "we'", "we\xe2", "sorry", "apolog", "my apolog", "unfortun", "regrett", "as a",
	"this ", "the ", "your ", "es tut", "je ", "d", "lo ", "mi ", "sinto",
}
