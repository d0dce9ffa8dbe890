// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// standInFacts is how many facts a stand-in gives: about as many as models do,
// since the prompt of the next stage grows with them.
const standInFacts = 12

// StandIn returns what a plan counts with in place of a model (see llm.Plan):
// for each request an answer that is readable and lets the draft pass, of about
// the length that a model's would have. It reads the prompt alone. What the
// stages make of it is thrown away.
func StandIn(cfg Config) func(llm.Request) string {
	cfg = cfg.complete()
	return func(req llm.Request) string {
		p := req.Messages[len(req.Messages)-1].Content
		switch req.Stage {
		case actsCall.Stage:
			return standInActs(quoted(p, "story"))
		case factsCall.Stage:
			return standInFactList(quoted(p, "act1"), cfg.Make.Kinds)
		case scoreCall.Stage:
			var b strings.Builder
			for i := 1; strings.Contains(p, fmt.Sprintf("\nF%d. Fact: ", i)); i++ {
				fmt.Fprintf(&b, "## F%d\n### Statement: [[the statement]]\n### Counterfactual: [[its counterfactual]]\n### Reasoning: [[some of the dialogues and events of the later acts change with it]]\n### Importance Score: %d\n----\n", i, cfg.Make.Importance[0])
			}
			return b.String()
		case rewriteCall.Stage:
			return "## Brainstorming\nA few lines change in each act.\n\n## Counterfactual Story\n" +
				standInAct(p, 1) + standInAct(p, 2) + standInAct(p, 3)
		case controlCall.Stage:
			return "## Detail\n- Fact: a detail; Counterfactual: another\n\n## Changed Story\n" + standInAct(p, 2) + standInAct(p, 3)
		case judgeCall.Stage:
			story, marked := markedStory(p)
			return standInVerdict(marked, story.Sentences[:min(1, len(story.Sentences))], story.Text)
		case coherenceCall.Stage, resolvedCall.Stage:
			return standInVerdict(nil, nil, "")
		case resolveCall.Stage:
			return standInBridge(p)
		case typeCall.Stage:
			kind, subtype := standInType(cfg.Make.Kinds)
			return fmt.Sprintf("### Reasoning\nOne later scene leans on it.\n\n### Kind\n%s\n\n### Severity\nharmless\n\n### Subtype\n%s\n", kind, subtype)
		}
		return ""
	}
}

// quoted returns what a prompt holds between the tags of [llm.Delimit], whose
// name may be numbered.
func quoted(prompt, name string) string {
	_, rest, ok := strings.Cut(prompt, "<"+name)
	if !ok {
		return ""
	}
	number, rest, _ := strings.Cut(rest, ">\n")
	s, _, _ := strings.Cut(rest, "\n</"+name+number+">")
	return s
}

// standInActs puts the borders of the acts near a quarter and three quarters of
// the words.
func standInActs(story string) string {
	sents := text.Sentences(story)
	if len(sents) < 3 {
		return ""
	}
	total, seen := text.Words(story), 0
	at := [3]int{0, -1, -1}
	for i, r := range sents {
		switch share := float64(seen) / float64(total); {
		case i == 0:
		case at[1] < 0 && share >= 0.25:
			at[1] = i
		case at[1] >= 0 && at[2] < 0 && share >= 0.75:
			at[2] = i
		}
		seen += text.Words(r.Of(story))
	}
	if at[1] < 0 {
		at[1] = 1
	}
	if at[2] < 0 {
		at[2] = max(at[1]+1, len(sents)-1)
	}
	if at[2] >= len(sents) {
		return ""
	}
	var b strings.Builder
	for i, name := range []string{"The Setup", "Confrontation", "Resolution"} {
		fmt.Fprintf(&b, "### Act %d: %s\n**First Line:** %s\n\n", i+1, name, sents[at[i]].Of(story))
	}
	return b.String()
}

func standInFactList(act1 string, kinds []string) string {
	sents := text.Sentences(act1)
	if len(sents) == 0 {
		return ""
	}
	kind, subtype := standInType(kinds)
	var b strings.Builder
	b.WriteString("Characters:\n")
	for i := range standInFacts {
		fmt.Fprintf(&b, "- Fact: This is established of someone, number %d; Counterfactual: The opposite of it holds of them, number %d\n  Evidence: %s\n  Type: %s / %s\n",
			i+1, i+1, oneLine(sents[0].Of(act1)), kind, subtype)
	}
	return b.String()
}

// standInType is a kind and a subtype that the recipe asks for.
func standInType(kinds []string) (kind, subtype string) {
	kind, subtype = "continuity", "appearance_mismatches"
	if len(kinds) == 0 {
		return kind, subtype
	}
	if slices.Contains(schemas.FlawKinds, kinds[0]) {
		return kinds[0], subtype
	}
	return kind, kinds[0]
}

// standInAct repeats an act of the prompt with one sentence changed and marked.
func standInAct(prompt string, n int) string {
	act := quoted(prompt, fmt.Sprintf("act%d", n))
	sents := text.Sentences(act)
	best := -1
	for i, r := range sents { // the longest one in the middle that is no speech
		s := r.Of(act)
		if i > 0 && i < len(sents)-1 && !strings.ContainsAny(s, "\"“”\n") && (best < 0 || len(s) > sents[best].Len()) {
			best = i
		}
	}
	if best < 0 && len(sents) > 0 {
		best = len(sents) - 1
	}
	if best >= 0 {
		// Two facts of a story are two questions to every later stage.
		other := fmt.Sprintf("otherwise%d", crc32.ChecksumIEEE([]byte(prompt))%1000)
		r := sents[best]
		s := r.Of(act)
		if i := strings.LastIndexByte(s, ' '); i > 0 {
			s = s[:i] + " " + other + s[i:]
		} else {
			s = other + " " + s
		}
		act = act[:r.Start] + markOpen + s + markClose + act[r.End:]
	}
	return fmt.Sprintf("### Act %d:\n%s\n\n", n, act)
}

// markedStory returns the story of a prompt without its marks, and the marked
// sentences.
func markedStory(prompt string) (v schemas.Variant, marked []schemas.Bounds) {
	clean, marks, err := unmark(quoted(prompt, "story"))
	if err != nil {
		return v, nil
	}
	v = plainVariant("", clean)
	ix := text.NewIndex(clean)
	for _, m := range marks {
		sp := ix.Span(m)
		marked = append(marked, schemas.Bounds{Start: sp.Start, End: sp.End})
	}
	return v, marked
}

// standInVerdict says that there is an error at the lines given, or none.
func standInVerdict(errors, contradicted []schemas.Bounds, story string) string {
	list := func(bounds []schemas.Bounds) string {
		if len(bounds) == 0 {
			return "NA\n"
		}
		ix := text.NewIndex(story)
		var b strings.Builder
		for _, at := range bounds {
			b.WriteString("- " + oneLine(byteRange(ix, at).Of(story)) + "\n")
		}
		return b.String()
	}
	why, decision := "NA", "No continuity error found"
	if len(errors) > 0 {
		why, decision = "The marked lines go by another fact than the beginning.", "There is a continuity error in the story concerning a detail"
	}
	return "## Detailed Analysis\nThe marked lines were held against what the story says before them.\n\n## Final Judgement\n\n### Lines that introduce the continuity error\n" + list(errors) +
		"\n### Lines earlier in the story contradicted by the continuity error\n" + list(contradicted) +
		"\n### Explanation\n" + why + "\n\n### Decision\nHence my answer is \"" + decision + "\"\n"
}

// standInBridge puts a sentence in before the first marked one, where nobody is
// speaking.
func standInBridge(prompt string) string {
	v, marked := markedStory(prompt)
	if len(marked) == 0 {
		return ""
	}
	first := schemas.SentenceAt(v.Sentences, marked[0].Start)
	st := readVariant(&v)
	after := max(first-1, 0)
	for i := after; i >= 0; i-- {
		if !st.InsideSpeech(i) {
			after = i
			break
		}
	}
	return fmt.Sprintf("## Reasoning\nThere is room for it between the two.\n\n### Insert after\n%s\n\n### Context\nBy then it had come about otherwise, as such things do.\n", oneLine(sentencesOf(&v)[after]))
}
