// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/transform"
)

const typeVersion = "4"

// typeFlaw asks of what sort a plot hole came out. Without this stage, which a
// recipe turns on with make.type_flaws, kind and subtype are those of the fact
// and severity is null.
func (m *maker) typeFlaw() transform.Step[schemas.Draft, schemas.Draft] {
	return transform.Step[schemas.Draft, schemas.Draft]{
		Name: "type", Version: typeVersion, Requires: []string{"judge"},
		Templates: []*llm.Template{typeCall.Template},
		Doc: "asks for kind (table A1 of the paper), severity and ConStory subtype of a plot hole that the judge let pass. With kinds in the recipe, one of another kind is set aside.\n\n" +
			"An answer that cannot be read leaves the types of the fact.\n\n" +
			"Reasons: kind_not_asked; for the types alone, the classes of unreadable answers.",
		Run: func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
			outs, err := part(func(ctx context.Context, pass *transform.Pass, d *schemas.Draft) error {
				in := m.source(d)
				in.Marked = markSentences(d.Patched, changed(d.Patched))
				res, err := ask(ctx, pass, typeCall, in, readTries, nil)
				if err != nil || res.Outcome == llm.NoRule {
					return err
				}
				flaw := *d.Flaw
				flaw.Kind, flaw.Severity, flaw.Subtype = res.Value.Kind, res.Value.Severity, res.Value.Subtype
				d.Flaw = &flaw
				stamp(d, pass, "type", typeVersion, typeCall.Template, res.Model, res.Key)
				return nil
			})(ctx, pass, d)
			if err != nil {
				return nil, err
			}
			if f := outs[0].Flaw; !m.asked(f.Kind, f.Subtype) {
				return nil, transform.Drop("kind_not_asked", fmt.Sprintf("it came out as %s, %s", f.Kind, f.Subtype))
			}
			return outs, nil
		},
	}
}

var typeCall = llm.Call[prompt, schemas.Flaw]{
	Stage:    "flawed/type",
	Template: template("type"),
	Params:   llm.Params{Temperature: llm.Float(0.5), MaxTokens: 2048},
	Decode:   decodeType,
}

var (
	kindHead     = headingOf("Kind")
	severityHead = headingOf("Severity")
	subtypeHead  = headingOf("Subtype")
)

// What an answer may call each value, words parted by underscores.
var kindNames, severityNames, subtypeNames = func() (kinds, severities, subtypes map[string]string) {
	kinds, severities, subtypes = map[string]string{}, map[string]string{}, map[string]string{}
	for _, k := range schemas.FlawKinds {
		kinds[k] = k
	}
	for _, s := range []string{"harmless", "unbridgeable"} {
		severities[s] = s
	}
	for _, c := range schemas.Categories {
		for _, t := range c.Subtypes {
			for _, name := range append([]string{t.Name}, t.Aliases...) {
				subtypes[name] = t.Name
			}
		}
	}
	return kinds, severities, subtypes
}()

// decodeType reads the three sections. Each must name one of its list, and no
// other: "harmless or unbridgeable" is no answer.
func decodeType(r *llm.Reply, _ prompt) (schemas.Flaw, error) {
	s := text.Freeze(r.Text)
	one := func(head *regexp.Regexp, names map[string]string) (string, error) {
		body := section(s, head, kindHead, severityHead, subtypeHead)
		if isPlaceholder(strings.TrimSpace(body)) {
			return "", llm.Failed(llm.Echo, "the prompt's own placeholder came back")
		}
		words := "_" + strings.Join(strings.FieldsFunc(strings.ToLower(body), func(r rune) bool { return r < 'a' || r > 'z' }), "_") + "_"
		found := map[string]bool{}
		for name, value := range names {
			if strings.Contains(words, "_"+name+"_") {
				found[value] = true
			}
		}
		if len(found) != 1 {
			return "", llm.Failed(llm.ParseFailed, fmt.Sprintf("%d of the list are named, want one", len(found)))
		}
		for value := range found {
			return value, nil
		}
		panic("unreachable")
	}
	var f schemas.Flaw
	var err [3]error
	f.Kind, err[0] = one(kindHead, kindNames)
	f.Severity, err[1] = one(severityHead, severityNames)
	f.Subtype, err[2] = one(subtypeHead, subtypeNames)
	for _, e := range err {
		if e != nil {
			return f, e
		}
	}
	return f, nil
}

// goldIDs lists the sentences of a gold set.
func goldIDs(gold []schemas.GoldSentence) []int {
	out := make([]int, len(gold))
	for i, g := range gold {
		out[i] = g.Sentence
	}
	return out
}
