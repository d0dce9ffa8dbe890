// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// resolveVersion covers the rules that answer this stage offline.
var resolveVersion = "7+" + offline.Version()

// resolve asks for context that explains the error away.
func (m *maker) resolve() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "resolve", Version: resolveVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{resolveCall.Template, resolvedCall.Template},
		Doc: "asks for one or two sentences that tell how and when the fact changed, and for the sentence they stand behind; " +
			"they must stand in narration, behind the last contradicted sentence and before the first changed one; where rules say what somebody is always called, it is the first contradicted one. Then the judge must say that the error is gone.\n\n" +
			"The plot hole stays, whatever becomes of its resolved story.\n\n" +
			"Reasons, for the variant: no_bridge, bridge_place, bridge_in_speech, bridge_empty, still_an_error, resolved_tell_tale, source_broken (of a fact of the rules), and the classes of unreadable answers.",
		Run: part(func(ctx context.Context, pass *transform.Pass, d *schemas.Draft) error {
			if why := m.unsound(d, false); why != nil {
				return why
			}
			in := m.source(d)
			in.Story, in.Explanation = d.Patched.Text, d.Explanation
			in.Marked = markSentences(d.Patched, changed(d.Patched))
			var v *schemas.Variant
			res, err := ask(ctx, pass, resolveCall, in, readTries, func(c bridging) (err error) {
				v, err = m.bridge(d, c, pass.Engine() == "rules")
				return err
			})
			switch {
			case err != nil:
				return err
			case res.Outcome == llm.NoRule:
				return transform.Drop("no_bridge", res.Reason)
			}
			stamp(d, pass, "resolve", resolveVersion, resolveCall.Template, res.Model, res.Key)
			in = prompt{Title: d.Title, Story: v.Text, Marked: markSentences(v, changed(v)), draft: d, maker: m}
			p, err := m.poll(ctx, pass, resolvedCall, in, v)
			switch {
			case err != nil:
				return err
			case p != nil && p.no() < m.cfg.Make.JudgeNeed:
				return transform.Drop("still_an_error", fmt.Sprintf("%d of %d say that the error is gone; %d are needed", p.no(), len(p.votes), m.cfg.Make.JudgeNeed))
			case p != nil:
				stamp(d, pass, "resolve", resolveVersion, resolvedCall.Template, p.model, p.keys...)
				v.Judge = p.counts()
			}
			d.Resolved = v
			return nil
		}),
	}
}

// bridging is a read answer: what to put in, and behind which sentence.
type bridging struct{ after, words string }

// bridge makes the resolved story. The explanation stands behind the last
// contradicted sentence, which would undo a change told before it; one that
// tells what has been so all the time, as rules do (always), may stand among
// them.
func (m *maker) bridge(d *schemas.Draft, c bridging, always bool) (*schemas.Variant, error) {
	if letters(c.words) == "" {
		return nil, transform.Drop("bridge_empty", "nothing was put in")
	}
	// Before the first sentence that goes by the counterfactual, whether the
	// votes call it an error or not.
	first := changed(d.Patched)[0]
	last := -1
	for _, g := range d.Contradicted {
		if g.Sentence < first && (last < 0 || !always) {
			last = g.Sentence
		}
	}
	if last < 0 {
		return nil, transform.Drop("bridge_place", fmt.Sprintf("sentence %d, the first changed one, stands before every contradicted one", first))
	}
	// A sentence that stands more than once means one between the two.
	inside := func(id int) bool { return id >= last && id < first }
	after := -1
	for _, id := range quotesOf(d.Patched, -1).find(c.after, inside) {
		if inside(id) {
			after = id
		}
	}
	if after < 0 {
		return nil, transform.Drop("bridge_place", fmt.Sprintf("the sentence named does not stand between sentence %d, the last contradicted one, and sentence %d, the first changed one", last, first))
	}
	ix := text.NewIndex(d.Patched.Text)
	end := byteRange(ix, d.Patched.Sentences[after]).End
	st := readVariant(d.Patched)
	if st.InsideSpeech(after) {
		return nil, transform.Drop("bridge_in_speech", "somebody is speaking there")
	}
	source := d.Original.Text
	edits, err := replacesOf(source, d.Patched)
	if err != nil {
		return nil, err
	}
	at, k := end, 0
	for k < len(edits) && d.Patched.Edits[k].ByteEnd <= end {
		at -= len(edits[k].New) - edits[k].Len()
		k++
	}
	edits = slices.Insert(edits, k, replace{text.Range{Start: at, End: at}, " " + oneLine(c.words)})
	got, err := newVariant(schemas.VariantResolved, source, edits, 0)
	if err != nil {
		return nil, transform.Drop("bridge_place", err.Error())
	}
	if why := tellTale(source, &got); why != "" {
		return nil, transform.Drop("resolved_tell_tale", why)
	}
	if back, err := Undo(got); err != nil || back != source {
		return nil, fmt.Errorf("%s: undoing the resolved story does not give the source: %v", d.DraftID, err)
	}
	return &got, nil
}

var resolveCall = llm.Call[prompt, bridging]{
	Stage:    "flawed/resolve",
	Template: template("resolve"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 2048},
	Decode:   decodeContext,
	Rule: func(in prompt) (string, error) {
		st := in.maker.offline(in.draft)
		f, err := in.maker.flip(in.draft, st)
		if err != nil {
			return "", err
		}
		a2, _ := actBytes(in.draft)
		after, words, ok := st.Bridge(f, a2)
		if !ok {
			return "", fmt.Errorf("the rules know no place or no way to explain the change: %w", llm.ErrNoRule)
		}
		return fmt.Sprintf("## Reasoning\nThe change is told before it shows.\n\n### Insert after\n%s\n\n### Context\n%s\n", oneLine(st.Sents[after].Of(st.Text)), words), nil
	},
}

// resolvedCall is the marked-line judge, asked about the resolved story.
var resolvedCall = llm.Call[prompt, verdict]{
	Stage:    "flawed/resolved_judge",
	Template: judgeCall.Template,
	Params:   judgeCall.Params,
	Decode:   decodeVerdict,
}

var (
	reasoningHead = headingOf(`Reasoning`)
	insertHead    = headingOf(`Insert after`)
	contextHead   = headingOf(`Context`)
)

func decodeContext(r *llm.Reply, _ prompt) (bridging, error) {
	s := text.Freeze(r.Text)
	c := bridging{after: stripAnswer(section(s, insertHead, contextHead, reasoningHead)), words: stripAnswer(section(s, contextHead, insertHead, reasoningHead))}
	if c.after == "" || c.words == "" {
		return c, llm.Failed(llm.ParseFailed, "no sentence to insert after, or no context")
	}
	if isPlaceholder(c.words) || isPlaceholder(c.after) {
		return c, llm.Failed(llm.Echo, "the prompt's own placeholder came back")
	}
	if clean, marks, err := unmark(c.words); err != nil || len(marks) > 0 {
		c.words = clean
		if err != nil {
			return c, llm.Failed(llm.ParseFailed, "tags in the context: "+err.Error())
		}
	}
	if c.words = unwrapContext(c.words); c.words == "" {
		return c, llm.Failed(llm.ParseFailed, "the context's quotation marks do not pair up")
	}
	return c, nil
}

// unwrapContext takes off what an answer puts around its sentences: a bullet,
// asterisks, quotation marks around all of them or around each. Speech inside
// them stays. It returns "" when a quotation mark is left without a partner.
func unwrapContext(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = bullet.ReplaceAllString(strings.TrimPrefix(strings.TrimSpace(l), "> "), "")
	}
	s = oneLine(strings.Join(lines, " "))
	for {
		in := strings.Trim(s, "*_` ")
		if enclosed(in) {
			_, first := utf8.DecodeRuneInString(in)
			_, last := utf8.DecodeLastRuneInString(in)
			in = in[first : len(in)-last]
		}
		if in == s {
			break
		}
		s = in
	}
	// Each sentence in quotation marks, and nothing beside them?
	var quoted []string
	beside, open, at := false, false, 0
	for i, r := range s {
		opens, closes := strings.ContainsRune("“«„", r), strings.ContainsRune("”»", r)
		if r == '"' {
			opens, closes = !open, open
		}
		switch {
		case opens && open || closes && !open:
			return ""
		case opens:
			beside = beside || letters(s[at:i]) != ""
			open, at = true, i+utf8.RuneLen(r)
		case closes:
			quoted = append(quoted, strings.TrimSpace(s[at:i]))
			open, at = false, i+utf8.RuneLen(r)
		}
	}
	switch {
	case open:
		return ""
	case len(quoted) == 0 || beside || letters(s[at:]) != "":
		return s
	}
	return strings.Join(quoted, " ")
}

// enclosed reports whether one pair of quotation marks encloses all of s,
// whatever is quoted inside: "She said "yes" and went.", but not "Yes," she
// said. "It is so." A mark that closes speech stands behind punctuation.
func enclosed(s string) bool {
	runes := []rune(s)
	if len(runes) < 3 {
		return false
	}
	first, last := runes[0], runes[len(runes)-1]
	inner := runes[1 : len(runes)-1]
	pairs := map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '«': '»', '„': '“'}
	if end, ok := pairs[first]; !ok || last != end {
		return false
	}
	for i, r := range inner {
		switch {
		case r == first && first != last: // speech inside: its end is not ours
			return slices.Index(inner, last) > i && !slices.Contains(inner[:i], last)
		case r == last && i > 0 && unicode.IsPunct(inner[i-1]):
			return false
		case r == last && first == '"':
			return true // it opens speech inside
		}
	}
	return true
}
