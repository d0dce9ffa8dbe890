// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
	"github.com/retcon-bench/retcon/transform/flawed/offline"
)

// resolveVersion covers the rules that answer this stage offline.
var resolveVersion = "2+" + offline.Version()

// resolve asks for context that explains the error away.
func (m *maker) resolve() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "resolve", Version: resolveVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{resolveCall.Template, resolvedCall.Template},
		Doc: "asks for one or two sentences that tell how and when the fact changed, and for the sentence they stand behind; " +
			"they must stand in narration, behind the last contradicted sentence and before the first error. Then the judge must say that the error is gone.\n\n" +
			"The plot hole stays, whatever becomes of its resolved story.\n\n" +
			"Reasons, for the variant: no_bridge, bridge_place, bridge_in_speech, bridge_empty, still_an_error, resolved_tell_tale, and the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			keep := []schemas.Draft{d}
			in := m.source(&d)
			in.Story, in.Explanation = d.Patched.Text, d.Explanation
			in.Marked = markSentences(d.Patched, goldIDs(d.Errors))
			res, err := ask(ctx, pass, resolveCall, in, readTries)
			var drop *transform.DropError
			switch {
			case errors.Is(err, transform.ErrPending):
				pass.Await()
				return keep, nil
			case errors.As(err, &drop):
				pass.SetAside(d.DraftID, drop.Reason, drop.Detail)
				return keep, nil
			case err != nil:
				return nil, err
			case res.Outcome == llm.NoRule:
				pass.SetAside(d.DraftID, "no_bridge", res.Reason)
				return keep, nil
			}
			v, why, err := m.bridge(&d, res.Value)
			if err != nil {
				return nil, err
			}
			if why != "" {
				reason, detail, _ := strings.Cut(why, ": ")
				pass.SetAside(d.DraftID, reason, detail)
				return keep, nil
			}
			stamp(&d, pass, "resolve", resolveVersion, resolveCall.Template, res.Model, res.Key)
			in = prompt{Title: d.Title, Story: v.Text, Marked: markSentences(v, changed(v)), draft: &d, maker: m}
			p, err := m.poll(ctx, pass, resolvedCall, in, v)
			switch {
			case errors.Is(err, transform.ErrPending):
				pass.Await()
				return keep, nil
			case err != nil:
				return nil, err
			case p != nil && p.no() < m.cfg.Make.JudgeNeed:
				pass.SetAside(d.DraftID, "still_an_error", fmt.Sprintf("%d of %d say that the error is gone; %d are needed", p.no(), len(p.votes), m.cfg.Make.JudgeNeed))
				return keep, nil
			case p != nil:
				stamp(&d, pass, "resolve", resolveVersion, resolvedCall.Template, p.model, p.keys...)
			}
			d.Resolved = v
			return []schemas.Draft{d}, nil
		},
	}
}

// bridging is a read answer: what to put in, and behind which sentence.
type bridging struct{ after, words string }

// bridge makes the resolved story. Why says what is wrong with the answer, as
// a reason code and a sentence.
func (m *maker) bridge(d *schemas.Draft, c bridging) (v *schemas.Variant, why string, err error) {
	if letters(c.words) == "" {
		return nil, "bridge_empty: nothing was put in", nil
	}
	first := d.Errors[0].Sentence
	last := d.Contradicted[len(d.Contradicted)-1].Sentence
	// A sentence that stands more than once means one between the two.
	inside := func(id int) bool { return id >= last && id < first }
	after := -1
	for _, id := range quotesOf(d.Patched, -1).find(c.after, inside) {
		if inside(id) {
			after = id
		}
	}
	if after < 0 {
		return nil, fmt.Sprintf("bridge_place: the sentence named does not stand between sentence %d, the last contradicted one, and sentence %d, the first error", last, first), nil
	}
	ix := text.NewIndex(d.Patched.Text)
	end := byteRange(ix, d.Patched.Sentences[after]).End
	st := readVariant(d.Patched)
	if st.InsideSpeech(after) {
		return nil, "bridge_in_speech: somebody is speaking there", nil
	}
	source := d.Original.Text
	edits, err := replacesOf(source, d.Patched)
	if err != nil {
		return nil, "", err
	}
	at, k := end, 0
	for k < len(edits) && d.Patched.Edits[k].ByteEnd <= end {
		at -= len(edits[k].New) - edits[k].Len()
		k++
	}
	edits = slices.Insert(edits, k, replace{text.Range{Start: at, End: at}, " " + oneLine(c.words)})
	got, err := newVariant(schemas.VariantResolved, source, edits, 0)
	if err != nil {
		return nil, "bridge_place: " + err.Error(), nil
	}
	if why := tellTale(source, &got); why != "" {
		return nil, "resolved_tell_tale: " + why, nil
	}
	if back, err := Undo(got); err != nil || back != source {
		return nil, "", fmt.Errorf("%s: undoing the resolved story does not give the source: %v", d.DraftID, err)
	}
	return &got, "", nil
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
	return c, nil
}
