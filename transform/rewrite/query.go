// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// asks finds a request: somebody is told to write. A query without it is a
// bare idea, such as most posts of a forum for writers.
var asks = regexp.MustCompile(`(?i)\b(?:write|compose|create|craft|tell (?:me|us|a|an|the)|retell|continue|complete|finish|expand|develop|design|generate|draft|produce|brainstorm|describe|polish|proofread|revise|edit|rewrite|translate|summari[sz]e|analy[sz]e|help me|help us|make (?:up|the most)|please)\b|` +
	`写|创作|编写|扩写|补全|撰|讲述|设计|构思|请|帮我|完成|改编|润色|修改|翻译`)

// Forms of writing. What the first form behind a request names is what it asks
// for; what stands elsewhere may be material.
var (
	storyForm = regexp.MustCompile(`(?i)^(?:stor(?:y|ies)|storyline|novels?|novella|novelette|fiction|fan ?fic(?:tion)?|(?:fairy|folk) ?tale|tale|fable|narrative|小说|故事|童话|同人|寓言)$`)
	anyForm   = regexp.MustCompile(`(?i)\b(?:stor(?:y|ies)|storyline|novels?|novella|novelette|fan ?fic(?:tion)?|fiction|(?:fairy|folk) ?tale|tale|fable|narrative|` +
		`poems?|poetry|sonnet|haiku|limerick|nursery rhyme|rap|songs?|lyrics|screenplay|(?:video |film |movie )?script|stage play|play|teleplay|essay|speech|letter|diary|blog|article|review|report|podcast|documentary|storyboard|` +
		`list of|outline|plot framework|framework|plot|character (?:design|profile|sheet|description|sketch)|(?:ai )?(?:[a-z]+ )?(?:butler|character)|dialogues?|dialog|monologue|scene|summary|analysis|proposal)\b|` +
		`小说|故事|童话|同人|寓言|剧本|散文|大纲|诗歌|诗|歌词|人物设定|人物|角色|小传|读后感|评论|分镜|脚本|演讲稿|论文|文章|段落|独白|作文|情节|场面|场景|对话`)
	// never names what no story in prose is, wherever it stands.
	never = regexp.MustCompile(`(?i)\b(?:in verse|uwuspeak|emojis?|timed|hand-?written|worksheet|polish(?:ing)? (?:this|my)|proofread|stage play|screenplay)\b|剧本|润色|分镜|详细的?大纲|详细的小说大纲`)
	// refers names something that is not in the request.
	refers = regexp.MustCompile(`(?i)\b(?:attached|attachment|(?:the|this) (?:image|picture|photo|link|video)|(?:see|click|linked) (?:below|above|here)|uploaded|previous (?:chapter|message|conversation)s?)\b|附件|如图|上图|下图|链接|上文|前文`)
	goesOn = regexp.MustCompile(`(?i)\b(?:continue|continuing|carry on|go on|finish)\b[^.!?\n]{0,60}\b(?:stor(?:y|ies)|novel|tale|chapter|passage|plot|manuscript)\b|续写|接着写|续作`)
	both   = regexp.MustCompile(`(?i)\b(?:begin(?:s|ning)?|start(?:s|ing)?|opens?)\b[\s\S]{0,400}\b(?:ends?|ending|closes|concludes?|finale)\b`)
	plan   = regexp.MustCompile(`(?im)^\s*(?:\d+[.)、）]|[-*•]|[一二三四五六七八九十]+、|["“]?(?:Section|Chapter|Part|Act) \d)`)
)

// leastPassage is how many words a query has that gives a text to go on from.
const leastPassage = 150

// queryTask assigns a query's task by what it gives: a text to go on from, a
// beginning and an end, points to fill in, or little more than an idea.
func queryTask(q string) string {
	words := text.WordsCJK(q)
	switch {
	case goesOn.MatchString(q) && words >= leastPassage:
		return schemas.TaskContinuation
	case len(plan.FindAllString(q, -1)) >= 4 || strings.Contains(q, "outline:"):
		return schemas.TaskExpansion
	case both.MatchString(q) && words >= 60:
		return schemas.TaskCompletion
	}
	return schemas.TaskGeneration
}

// requestReach is how far behind a request, in bytes, its object may stand.
const requestReach = 140

// noStory says why a request is not one for a story that can be written, ""
// when it is.
func noStory(q string) (check, why string) {
	if m := never.FindString(q); m != "" {
		return "not_a_story", fmt.Sprintf("it asks for something else than a story in prose: %q", m)
	}
	form := requestedForm(q)
	switch {
	case form == "":
		return "not_a_story", "it does not ask for a story"
	case !storyForm.MatchString(form):
		return "not_a_story", fmt.Sprintf("it asks for something else than a story: %q", form)
	}
	if m := refers.FindString(q); m != "" {
		return "unanswerable", fmt.Sprintf("it refers to what is not in it: %q", m)
	}
	return "", ""
}

// requestedForm is the first form of writing that stands behind a request in
// its sentence.
func requestedForm(q string) string {
	for _, at := range asks.FindAllStringIndex(q, 40) {
		end := min(len(q), at[1]+requestReach)
		for end < len(q) && q[end]&0xC0 == 0x80 {
			end++
		}
		reach := q[at[1]:end]
		if i := strings.IndexAny(reach, ".!?;\n"); i >= 0 {
			reach = reach[:i]
		}
		if i := strings.IndexAny(reach, "。！？；"); i >= 0 {
			reach = reach[:i]
		}
		for _, m := range anyForm.FindAllStringIndex(reach, -1) {
			form := reach[m[0]:m[1]]
			if after := reach[m[1]:]; strings.EqualFold(form, "song") && strings.HasPrefix(after, " of ") || strings.HasPrefix(after, "-") {
				continue // A Song of Ice and Fire
			}
			if next := strings.Fields(reach[m[1]:]); len(next) > 0 && compound[strings.ToLower(strings.Trim(next[0], ",:"))] {
				form = next[0] // a story outline
			}
			return strings.Trim(form, ",:")
		}
	}
	return ""
}

// compound are words that make another form of the one before them: a novel
// outline, a story script.
var compound = set("outline outlines script framework review plan synopsis summary analysis idea ideas")

// target is a length that a text asks for.
type target struct {
	at       text.Range // of the number with its unit
	bound    int        // where words such as "at least" before it start
	min, max int        // 0: no bound
	exact    bool       // neither at least nor at most
	unit     string     // words, pages, chapters ... as written
}

var (
	wordTarget = regexp.MustCompile(`(?i)(?:(at least|no (?:less|fewer) than|more than|over|minimum(?: of)?|at most|no more than|up to|under|within|below|less than|fewer than|maximum(?: of)?)\s+)?(\d[\d,]*)(?:\s*(?:-|–|—|~|to)\s*(\d[\d,]*))?[\s-]*(k)?[\s-]*(words?|pages?|characters)\b`)
	wordAtMost = regexp.MustCompile(`(?i)at most|no more|up to|under|within|below|less than|fewer|maximum`)
	hanTarget  = regexp.MustCompile(`(不少于|不低于|至少|超过|不超过|不多于|最多|以内)?\s*(\d[\d,]*|[一二两三四五六七八九]千|[一二两三四五六七八九]万)(?:\s*(?:-|–|—|~|～|至|到)+\s*(\d[\d,]*))?\s*(万|千)?\s*(字)(以上|以内|左右|以下)?`)
)

// targets finds every length that q asks for.
func targets(q string) []target {
	var out []target
	start := 0
	for line := range strings.Lines(q) { // a length stands on one line; most lines have none
		out = append(out, targetsIn(line, start)...)
		start += len(line)
	}
	return out
}

// targetsIn is targets of one line, which starts at byte start.
func targetsIn(q string, start int) (out []target) {
	defer func() {
		for i := range out {
			out[i].at.Start, out[i].at.End, out[i].bound = out[i].at.Start+start, out[i].at.End+start, out[i].bound+start
		}
	}()
	if !strings.ContainsAny(q, "0123456789") && !strings.ContainsAny(q, "千万") || !holdsAny(strings.ToLower(q), []string{"word", "page", "character", "字"}) {
		return nil
	}
	for _, m := range wordTarget.FindAllStringSubmatchIndex(q, -1) {
		if m[0] > 0 && (q[m[0]-1] == '.' || q[m[0]-1] >= '0' && q[m[0]-1] <= '9') {
			continue
		}
		t := target{at: text.Range{Start: m[4], End: m[1]}, bound: m[0], unit: strings.ToLower(q[m[10]:m[11]])}
		lo, hi := number(q, m[4], m[5]), number(q, m[6], m[7])
		if m[8] >= 0 {
			lo, hi = lo*1000, hi*1000
		}
		t.bounds(lo, hi, sub(q, m[2], m[3]), wordAtMost)
		out = append(out, t)
	}
	for _, m := range hanTarget.FindAllStringSubmatchIndex(q, -1) {
		t := target{at: text.Range{Start: m[4], End: m[1]}, bound: m[0], unit: "字"}
		lo, hi := number(q, m[4], m[5]), number(q, m[6], m[7])
		switch sub(q, m[8], m[9]) {
		case "万":
			lo, hi = lo*10000, hi*10000
		case "千":
			lo, hi = lo*1000, hi*1000
		}
		t.bounds(lo, hi, sub(q, m[2], m[3])+sub(q, m[12], m[13]), hanAtMost)
		if lo >= 100 {
			out = append(out, t)
		}
	}
	return out
}

var hanAtMost = regexp.MustCompile(`不超过|不多于|最多|以内|以下`)

func (t *target) bounds(lo, hi int, word string, most *regexp.Regexp) {
	switch {
	case hi > 0:
		t.min, t.max = lo, hi
	case word == "" || word == "左右":
		t.min, t.max, t.exact = lo, lo, true
	case most.MatchString(word):
		t.max = lo
	default:
		t.min = lo
	}
}

func sub(s string, a, b int) string {
	if a < 0 {
		return ""
	}
	return s[a:b]
}

var hanDigits = map[string]int{"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}

// number reads a number that a target matched: digits, or one ideograph before
// thousand or ten thousand.
func number(s string, a, b int) int {
	if a < 0 {
		return 0
	}
	w := strings.ReplaceAll(s[a:b], ",", "")
	if n, err := strconv.Atoi(w); err == nil {
		return n
	}
	for han, n := range hanDigits {
		if rest, ok := strings.CutPrefix(w, han); ok {
			switch rest {
			case "千":
				return n * 1000
			case "万":
				return n * 10000
			}
		}
	}
	return 0
}

// agrees reports whether a story of lo to hi words can be what t asks for.
func (t target) agrees(lo, hi int) bool {
	if t.unit != "words" && t.unit != "word" && t.unit != "字" {
		return false
	}
	switch {
	case t.min > 0 && t.max > 0:
		return t.max >= lo && t.min <= hi
	case t.max > 0: // at most
		return t.max >= hi
	}
	return t.min <= lo // at least
}

// leastReplaced is the least length that a request may ask for to be made one
// for a long story: who asks for 200 words has no long story in mind.
const leastReplaced = 500

// askLong makes a request ask for a story of lo to hi words. Everything else of
// it stays as it is. replaced says that it asked for another length; an error
// that its length cannot be changed by changing one number.
func askLong(q string, lo, hi int, zh bool) (out string, replaced bool, err error) {
	comma := ","
	if zh {
		comma = ""
	}
	ts := targets(q)
	if len(ts) == 0 {
		if zh {
			return q + "\n\n" + fmt.Sprintf("全文约%d至%d字。", lo, hi), false, nil
		}
		return q + "\n\n" + fmt.Sprintf("The story should be %s to %s words long.", thousands(lo, comma), thousands(hi, comma)), false, nil
	}
	if len(ts) > 1 {
		for _, t := range ts {
			if !t.agrees(lo, hi) {
				return "", false, fmt.Errorf("it asks for several lengths, one of which is not %d to %d words", lo, hi)
			}
		}
		return q, false, nil
	}
	t := ts[0]
	switch {
	case t.agrees(lo, hi) && t.max > 0 && t.min > 0:
		return q, false, nil // it asks for such a length itself
	case t.agrees(lo, hi):
		if zh {
			return q + "\n\n" + fmt.Sprintf("全文约%d至%d字。", lo, hi), false, nil
		}
		return q + "\n\n" + fmt.Sprintf("The story should be %s to %s words long.", thousands(lo, comma), thousands(hi, comma)), false, nil
	case t.unit != "words" && t.unit != "word" && t.unit != "字":
		return "", false, fmt.Errorf("it measures its length in %s", t.unit)
	case max(t.min, t.max) < leastReplaced:
		return "", false, fmt.Errorf("it asks for %d words", max(t.min, t.max))
	}
	return replaceTarget(q, t, lo, hi, comma, zh), true, nil
}

// before is what may stand before a number that is replaced by a range.
var before = regexp.MustCompile(`(?i)(\ban? )?((?:(?:approximately|about|around|roughly|nearly|some|of) )*)$`)

// replaceTarget puts a range in place of the number.
func replaceTarget(q string, t target, lo, hi int, comma string, zh bool) string {
	head, tail := q[:t.bound], q[t.at.End:]
	if zh {
		return head + fmt.Sprintf("%d至%d字", lo, hi) + strings.TrimPrefix(tail, "左右")
	}
	low, high := thousands(lo, comma), thousands(hi, comma)
	word := q[t.at.Start:t.at.End]
	attributive := len(tail) > 1 && tail[0] == ' ' && nounAfter.MatchString(tail)
	if !attributive && !strings.Contains(word, "-") {
		return head + low + " to " + high + " words" + tail
	}
	// A 5000-word story: an 8,000- to 10,000-word story.
	if m := before.FindStringSubmatchIndex(head); m != nil && m[2] >= 0 && m[4] == m[5] {
		article := head[m[2]:m[3]]
		fresh := "a "
		if strings.HasPrefix(low, "8") || strings.HasPrefix(low, "11") || strings.HasPrefix(low, "18") {
			fresh = "an "
		}
		if article[0] == 'A' {
			fresh = "A" + fresh[1:]
		}
		head = head[:m[2]] + fresh + head[m[3]:]
	}
	return head + low + "- to " + high + "-word" + tail
}

var nounAfter = regexp.MustCompile(`(?i)^ (?:short |long |urban |romance |love |ghost |personal |detective |first-person )*(?:stor(?:y|ies)|novels?|novella|tale|narrative|fiction|fanfic\w*|piece|dialogue)\b`)

// composeQuery passes a query on, or builds a prompt round a bare idea.
func (w *work) composeQuery() (prompt string, used []piece, err error) {
	q := w.r.text
	if !asks.MatchString(q) {
		w.offers = map[string]*offer{w.task: {fit: 1, premise: piece{"premise", sourceText, q, q}}}
		return w.compose()
	}
	if check, why := noStory(q); check != "" {
		w.refuse(check, why)
	}
	prompt, replaced, err := askLong(q, w.cfg.MinWords, w.cfg.MaxWords, w.r.zh)
	if err != nil {
		w.refuse("word_target", err.Error())
		prompt = q
	}
	if replaced {
		w.flag("length_replaced")
	}
	if !w.r.zh && strings.IndexFunc(prompt[len(prompt)-1:], unicode.IsLetter) == 0 {
		prompt += "."
	}
	return text.Trim(text.Freeze(prompt)), []piece{{"request", sourceText, q, q}}, nil
}

// withoutTargets is a request without the lengths it asks for: two that differ
// in nothing else are one, since both are asked for the benchmark's length.
func withoutTargets(q string) string {
	var b strings.Builder
	at := 0
	for _, t := range targets(q) {
		if t.bound >= at {
			b.WriteString(q[at:t.bound])
			at = t.at.End
		}
	}
	return b.String() + q[at:]
}
