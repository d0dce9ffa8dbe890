// SPDX-License-Identifier: Apache-2.0

// Package scoringtest makes rows and predictions up, for tests that compare
// implementations of the scoring rules and for benchmarks. What it makes
// depends on the seed alone.
//
// [Rows] gives stories of random sentences in several languages, with the
// things that make quoting hard: numbers, negations, repeated sentences,
// typographic marks, dashes, ellipses, short sentences. [Predictions] gives
// answers of every kind to them, right, wrong, sly and broken, as records
// or as raw completions.
package scoringtest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

var nouns = strings.Fields("miller cloak lamp river widow goose baker’s-boy king’s horse tower candle orchard ferryman island bell ring winter garden stranger Zoë café naïveté mother-in-law 👒")
var verbs = strings.Fields("found lost painted carried sold hid kept followed didn’t-see wouldn’t-sell remembered burned mended")
var adjectives = strings.Fields("red blue old golden silent broken tall narrow cheerful grey wooden seven three 12 1,200 ¾ second")
var closers = []string{".", ".", ".", "!", "?", "…", ".”", " — ", "..."}
var openers = []string{"", "", "", "", "“", "‘", "«\u00a0", "„", "— "}

var fixed = []string{
	"It was dark.", "No.", "“Yes!”", "Then he slept.", "He said nothing at all.",
	"Der Müller hatte keine drei Söhne, sondern nur einen.", "La reine ne portait jamais de manteau rouge.",
	"国王有三个儿子，最小的不说话。", "むかしむかし、おばあさんは川へ行きました。", "Он никогда не возвращался домой.",
	"...", "* * *", "CHAPTER II", "[Illustration: The lamp]", "<i>The end</i> of it.",
}

// Rows makes n rows of about sentences sentences each, half of them with an
// error, four rows a source.
func Rows(seed uint64, n, sentences int) []schemas.Example {
	out := make([]schemas.Example, n)
	for i := range out {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		out[i] = makeRow(rng, fmt.Sprintf("rc-%06d", i), fmt.Sprintf("source-%d", i/4), i%2 == 0, sentences)
	}
	return out
}

func makeRow(rng *rand.Rand, id, group string, bad bool, about int) schemas.Example {
	n := max(8, about/2+rng.IntN(about+1))
	var list []string
	for len(list) < n {
		switch r := rng.IntN(20); {
		case r < 2:
			list = append(list, pick(rng, fixed))
		case r == 2 && len(list) > 2:
			list = append(list, list[rng.IntN(len(list))]) // told again
		default:
			list = append(list, sentence(rng))
		}
	}
	e := schemas.Example{
		ExampleID: id, GroupID: group, MatchID: group, Variant: schemas.VariantOriginal, Split: "test", Language: "en",
		Label: schemas.LabelConsistent,
	}
	var b strings.Builder
	at := 0
	for i, s := range list {
		if i > 0 {
			gap := " "
			if rng.IntN(6) == 0 {
				gap = "\n\n"
			}
			b.WriteString(gap)
			at += len(gap)
		}
		b.WriteString(s)
		runes := utf8.RuneCountInString(s)
		e.Sentences = append(e.Sentences, schemas.Bounds{Start: at, End: at + runes})
		at += runes
	}
	e.Story = b.String()
	e.TextHash = schemas.HashText(e.Story)
	e.Words = len(strings.Fields(e.Story))
	if bad {
		e.Label, e.ContError, e.Variant = schemas.LabelError, 1, schemas.VariantPatched
		e.MatchID = group + "#" + id[len(id)-4:]
		e.ErrorSpans = gold(rng, &e, list, n/2, n)
		e.ContradictedSpans = gold(rng, &e, list, 0, n/2)
	}
	return e
}

func gold(rng *rand.Rand, e *schemas.Example, list []string, from, to int) []schemas.Span {
	var out []schemas.Span
	first := from + rng.IntN(to-from)
	for i := first; i < to && len(out) < 1+rng.IntN(3); i++ {
		b := e.Sentences[i]
		out = append(out, schemas.Span{Offsets: schemas.Offsets{Start: b.Start, End: b.End}, Sentence: i, Text: list[i]})
	}
	return out
}

func sentence(rng *rand.Rand) string {
	words := []string{pick(rng, openers) + "The"}
	for range 1 + rng.IntN(5) {
		words = append(words, pick(rng, adjectives), pick(rng, nouns), pick(rng, verbs), "the")
		if rng.IntN(4) == 0 {
			words = append(words, pick(rng, []string{"and", "but not", ", who never", "—", "*twice*", "… then"}))
		}
	}
	words = append(words, pick(rng, nouns))
	s := strings.ReplaceAll(strings.Join(words, " "), " ,", ",")
	return strings.TrimSpace(strings.ReplaceAll(s, "didn’t-see", "didn’t see") + pick(rng, closers))
}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// Completion is a raw answer, as [scoring.FormatCompletions] has it.
type Completion struct {
	ExampleID    string `json:"example_id"`
	TextHash     string `json:"text_hash"`
	Model        string `json:"model"`
	Prompt       string `json:"prompt"`
	Sample       int    `json:"sample"`
	Completion   string `json:"completion"`
	FinishReason string `json:"finish_reason"`
}

// Predictions makes n prediction records by two models for rows, several
// samples a row where n asks for them, as a stream of samples over the rows.
// About one in fifty is left out.
func Predictions(seed uint64, rows []schemas.Example, n int) []schemas.Prediction {
	out := make([]schemas.Prediction, 0, n)
	for i := 0; len(out) < n; i++ {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		if rng.IntN(50) == 0 {
			continue
		}
		r := &rows[i/2%len(rows)]
		p := schemas.Prediction{
			ExampleID: r.ExampleID, TextHash: r.TextHash, Model: fmt.Sprintf("model-%d", i%2), Prompt: "vanilla", Sample: i / 2 / len(rows),
			Outcome: "ok", Label: schemas.LabelError, CompletionTokens: 50 + rng.IntN(900),
		}
		switch k := rng.IntN(20); {
		case k < 6:
			p.Label = schemas.LabelConsistent
			if rng.IntN(6) == 0 {
				p.ErrorLines = []string{Quote(rng, r)}
			}
		case k == 6:
			p.Label, p.Outcome = "", pick(rng, []string{"truncated", "refusal", "empty", "parse_failed", "truncated_in_reasoning", "api_error"})
		case k == 7:
			p.ErrorSentences, p.ContradictedSentences = someIDs(rng, r, r.ErrorSpans), someIDs(rng, r, r.ContradictedSpans)
		default:
			p.ErrorLines, p.ContradictedLines = lines(rng, r, r.ErrorSpans), lines(rng, r, r.ContradictedSpans)
		}
		out = append(out, p)
	}
	return out
}

// Completions is Predictions as raw answers, with decisions and forms of all kinds.
func Completions(seed uint64, rows []schemas.Example, n int) []Completion {
	var out []Completion
	for i, p := range Predictions(seed, rows, n) {
		rng := rand.New(rand.NewPCG(seed+1, uint64(i)))
		c := Completion{ExampleID: p.ExampleID, TextHash: p.TextHash, Model: p.Model, Prompt: "raw", Sample: p.Sample, FinishReason: "stop"}
		c.Completion = answer(rng, p)
		switch rng.IntN(25) {
		case 0:
			c.Completion, c.FinishReason = c.Completion[:cutAt(c.Completion, rng)], "length"
		case 1:
			c.Completion, c.FinishReason = c.Completion[:cutAt(c.Completion, rng)], ""
		case 2:
			c.FinishReason = pick(rng, []string{"", "content_filter", "length", "max_tokens"})
		case 3:
			c.Completion = pick(rng, []string{"", " \n", "<think>The lamp", "I'm sorry, but I can't help with that.", "ANSWER: **Yes**", "no", "I read it twice. It is a good story, I think."})
		}
		out = append(out, c)
	}
	return out
}

// cutAt returns a place between two characters.
func cutAt(s string, rng *rand.Rand) int {
	at := rng.IntN(len(s) + 1)
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

var yes = []string{
	"There is a continuity error in the story concerning the cloak.", "Continuity error found.", "Yes", "ANSWER: **Yes**", "Answer: $\\boxed{Yes}$",
	"**Final decision:** (yes)", "A plot hole exists, and no other errors were found.", "Yes, there is a continuity error.", "The story is inconsistent.",
	"There is no doubt that there is a continuity error", "1 continuity error", "Final answer:\n\nＹＥＳ",
}
var no = []string{
	"No continuity error found", "\"No continuity error found.\"", "NO CONTINUITY ERROR FOUND", "No\u200b continuity error found", "no", "Answer: No.",
	"There are no errors, inconsistencies, or contradictions.", "I could not find any continuity errors.", "Continuity errors were not found.", "None",
	"The story is consistent.", "Continuity error: none", "The text is error-free.", "No, there are no continuity errors",
}
var neither = []string{
	"Yes or No", "yes/no", "", "I cannot say.", "No, there is a continuity error.", "It is not true that no continuity error was found.",
	"There may be a continuity error.", "[State your decision; write \"No continuity error found\" if there is none]", "ANSWER: yes\nANSWER: no",
}

func answer(rng *rand.Rand, p schemas.Prediction) string {
	decision := pick(rng, yes)
	switch {
	case p.Outcome != "ok" || rng.IntN(30) == 0:
		decision = pick(rng, neither)
	case p.Label == schemas.LabelConsistent:
		decision = pick(rng, no)
	}
	block := func(list []string) string {
		if len(list) == 0 {
			return pick(rng, []string{"", "N/A", "None", "[If applicable, quote]", "-"})
		}
		form := pick(rng, []string{"%s\n", "- %s\n", "<li>%s</li>", "* \"%s\"\n\n", "> %s\r\n", "(3) “%s”\n"})
		var b strings.Builder
		for _, l := range list {
			fmt.Fprintf(&b, form, l)
		}
		return b.String()
	}
	errorTag := pick(rng, []string{"error_lines", "error_lines", "error_lines", "ERROR_LINES", "error\\_lines", "error-lines", "error lines"})
	s := "<response>\n<explanation>\nHe had a lamp; later none.\n</explanation>\n\n<" + errorTag + ">\n" + block(p.ErrorLines) +
		"</" + errorTag + ">\n\n<contradicted_lines>\n" + block(p.ContradictedLines) + "</contradicted_lines>\n\n<decision>\n" + decision + "\n</decision>\n</response>"
	switch rng.IntN(20) {
	case 0:
		s = "<think>Hm. <decision>no</decision>\n</think>\n" + s
	case 1:
		s = "<scratchpad>\nFirst,\n</scratchpad>\n" + s + "\n\nHope this helps!"
	case 2:
		s = "```xml\n" + s + "\n```"
	case 3:
		s, _, _ = strings.Cut(s, "</decision>")
	case 4:
		s = strings.Replace(s, "</"+errorTag+">", "", 1)
	case 5:
		s = strings.NewReplacer("<decision>\n", "", "</decision>\n", "", "</response>", "").Replace(s)
	case 6:
		s += "\n" + s
	case 7:
		s += "\n<decision>" + pick(rng, yes) + "</decision>"
	}
	return s
}

func someIDs(rng *rand.Rand, r *schemas.Example, gold []schemas.Span) []int {
	var out []int
	for range rng.IntN(8) {
		out = append(out, rng.IntN(len(r.Sentences)+4)-2)
	}
	if len(gold) > 0 && rng.IntN(2) == 0 {
		out = append(out, gold[0].Sentence)
	}
	return out
}

func lines(rng *rand.Rand, r *schemas.Example, gold []schemas.Span) []string {
	out := []string{}
	for range rng.IntN(3) {
		out = append(out, Quote(rng, r))
	}
	if len(gold) > 0 && rng.IntN(3) > 0 {
		out = append(out, vary(rng, gold[rng.IntN(len(gold))].Text))
	}
	if rng.IntN(40) == 0 {
		for i := range r.Sentences {
			out = append(out, at(r, i, i+1))
		}
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// at returns the story from sentence i to before sentence j.
func at(r *schemas.Example, i, j int) string {
	s, err := schemas.Bounds{Start: r.Sentences[i].Start, End: r.Sentences[j-1].End}.Slice(r.Story)
	if err != nil {
		panic(err) // made with the row
	}
	return s
}

// Quote makes a quotation of a row, faithful or not.
func Quote(rng *rand.Rand, r *schemas.Example) string {
	i := rng.IntN(len(r.Sentences))
	switch rng.IntN(12) {
	case 0:
		return at(r, i, min(len(r.Sentences), i+1+rng.IntN(8)))
	case 1:
		return pick(rng, []string{"", " ", "the", "\"\"", "\u200b", "The red", "*", "no", "…"})
	case 2:
		return r.Story
	case 3:
		j := rng.IntN(len(r.Sentences))
		return at(r, i, i+1) + pick(rng, []string{" ... ", " … ", "\n", " [...] ", "\n\n- ", ". . . ", "<br>"}) + at(r, j, j+1)
	case 4: // from the middle of one to the middle of the next
		w := strings.Fields(at(r, i, min(len(r.Sentences), i+2)))
		from := rng.IntN(len(w))
		return strings.Join(w[from:from+1+rng.IntN(len(w)-from)], " ")
	case 5:
		return fmt.Sprintf("Line %d: %s", i, at(r, i, i+1))
	}
	return vary(rng, at(r, i, i+1))
}

// vary changes the look, and sometimes the words, of a quotation.
func vary(rng *rand.Rand, s string) string {
	w := strings.Fields(s)
	switch rng.IntN(12) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return strings.NewReplacer("’", "'", "“", "\"", "”", "\"", "…", "...", "—", "-", "ë", "e\u0308").Replace(s)
	case 2:
		return "« " + s + " »"
	case 3:
		return "„" + s + "“"
	case 4:
		return strings.ReplaceAll(s, " ", "\u200b ")
	case 5: // one to three words changed
		for range 1 + rng.IntN(3) {
			w[rng.IntN(len(w))] = pick(rng, []string{"another", "7", "never", "mill", "a"})
		}
		return strings.Join(w, " ")
	case 6: // words dropped
		for range 1 + rng.IntN(3) {
			if k := rng.IntN(len(w)); len(w) > 1 {
				w = append(w[:k:k], w[k+1:]...)
			}
		}
		return strings.Join(w, " ")
	case 7: // a part
		from := rng.IntN(len(w))
		return strings.Join(w[from:from+1+rng.IntN(len(w)-from)], " ")
	case 8: // an ellipsis inside
		k := rng.IntN(len(w))
		return strings.Join(w[:k], " ") + " ... " + strings.Join(w[min(len(w), k+1):], " ")
	case 9:
		return "<m>" + s + "</m>"
	}
	return s
}

// Plain makes n prediction records as ordinary systems give them: a label, an
// explanation, one or two quotes a side, most of them faithful. All rows are
// answered by one model, sample after sample.
func Plain(seed uint64, rows []schemas.Example, n int) iter.Seq[schemas.Prediction] {
	texts := make([][]string, len(rows))
	for i := range rows {
		for j := range rows[i].Sentences {
			texts[i] = append(texts[i], at(&rows[i], j, j+1))
		}
	}
	return func(yield func(schemas.Prediction) bool) {
		for i := range n {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			k := i % len(rows)
			r := &rows[k]
			p := schemas.Prediction{
				ExampleID: r.ExampleID, TextHash: r.TextHash, Model: "model", Prompt: "cot", Sample: i / len(rows),
				Outcome: "ok", Label: schemas.LabelConsistent, ErrorLines: []string{}, ContradictedLines: []string{},
				Explanation:      "The story first says one thing of the lamp and then, without any reason that I could find, another.",
				CompletionTokens: 50 + rng.IntN(900),
			}
			switch {
			case rng.IntN(50) == 0:
				p.Label, p.Outcome = "", "truncated"
			case rng.IntN(20) < 11:
				p.Label = schemas.LabelError
				for range 1 + rng.IntN(2) {
					p.ErrorLines = append(p.ErrorLines, plainQuote(rng, texts[k], r.ErrorSpans))
					p.ContradictedLines = append(p.ContradictedLines, plainQuote(rng, texts[k], r.ContradictedSpans))
				}
			}
			if !yield(p) {
				return
			}
		}
	}
}

func plainQuote(rng *rand.Rand, sentences []string, gold []schemas.Span) string {
	s := pick(rng, sentences)
	if len(gold) > 0 && rng.IntN(2) == 0 {
		s = gold[0].Text
	}
	switch r := rng.IntN(20); {
	case r < 3:
		return vary(rng, s)
	case r < 6:
		return "\"" + s + "\""
	}
	return s
}
