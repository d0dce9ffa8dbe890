// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
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

//go:embed prompts/*.tmpl
var prompts embed.FS

func template(name string) *llm.Template { return llm.MustTemplate(prompts, "prompts/"+name+".tmpl") }

// prompt is what a template sees, and the draft that its rule may look at.
type prompt struct {
	Title            string
	Story            string // the source, or the story under judgement
	Act1, Act2, Act3 string
	Facts            []schemas.Fact
	Fact             schemas.Fact
	Marked           string // a story with the changed sentences between <m> and </m>
	Explanation      string
	Kinds            []string
	Sentences        []numbered
	MaxSites         int    // places that may change in acts 2 and 3
	Wrong            string // what was wrong with the answer before, for people; empty at first

	draft *schemas.Draft
	maker *maker
}

// numbered is a sentence with the number that a prompt shows.
type numbered struct {
	N    int
	Text string
}

// source fills the fields about the source story.
func (m *maker) source(d *schemas.Draft) prompt {
	p := prompt{Title: d.Title, Story: d.Original.Text, Facts: d.Facts, Kinds: m.cfg.Make.Kinds, MaxSites: m.cfg.Make.MaxSites, draft: d, maker: m}
	if d.Fact != nil {
		p.Fact = *d.Fact
	}
	if d.Acts != nil {
		a2, a3 := actBytes(d)
		s := d.Original.Text
		p.Act1, p.Act2, p.Act3 = text.Trim(s[:a2]), text.Trim(s[a2:a3]), text.Trim(s[a3:])
	}
	return p
}

// actBytes returns the bytes at which acts 2 and 3 of the original start.
func actBytes(d *schemas.Draft) (act2, act3 int) {
	ix := text.NewIndex(d.Original.Text)
	a, err := ix.FromRunes(d.Acts.Act2, d.Acts.Act3)
	if err != nil {
		panic(fmt.Sprintf("%s: acts do not lie in the text: %v", d.DraftID, err))
	}
	return a.ByteStart, a.ByteEnd
}

// offline reads the source for the rules.
func (m *maker) offline(d *schemas.Draft) *offline.Story {
	s := d.Original.Text
	ix := text.NewIndex(s)
	var sents, marks []text.Range
	for _, b := range d.Original.Sentences {
		sents = append(sents, byteRange(ix, b))
	}
	for _, mk := range d.Marks {
		marks = append(marks, byteRange(ix, mk.Bounds))
	}
	st := offline.Read(fmt.Sprintf("%d/%s", m.cfg.Seed, d.GroupID), d.Title, s, sents, marks)
	parts := map[string]text.Range{}
	for _, sec := range d.Sections {
		parts[sec.ID] = byteRange(ix, sec.Bounds)
	}
	var experts []offline.Expert
	for _, f := range d.SourceFacts {
		if !f.Explicit {
			continue
		}
		e := offline.Expert{Answers: f.Answers}
		for _, id := range f.Sections {
			if r, ok := parts[id]; ok {
				e.Parts = append(e.Parts, r)
			}
		}
		experts = append(experts, e)
	}
	st.Experts(experts)
	return st
}

func byteRange(ix *text.Index, b schemas.Bounds) text.Range {
	sp, err := ix.FromRunes(b.Start, b.End)
	if err != nil {
		panic(err)
	}
	return text.Range{Start: sp.ByteStart, End: sp.ByteEnd}
}

// flips returns what the rules can flip in the source.
func (m *maker) flips(d *schemas.Draft, st *offline.Story) []*offline.Flip {
	return st.Flips(m.cfg.Survey.people(d.Collection, d.GroupID))
}

// flip returns the rules' flip behind a fact of theirs.
func (m *maker) flip(d *schemas.Draft, st *offline.Story) (*offline.Flip, error) {
	for _, f := range m.flips(d, st) {
		if f.Statement == d.Fact.Statement && f.Counterfactual == d.Fact.Counterfactual {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s: the rules know nothing of the fact %q: %w", d.DraftID, d.Fact.Statement, llm.ErrNoRule)
}

// hash01 maps parts to a number in [0,1).
func hash01(seed uint64, parts ...string) float64 {
	h := sha256.New()
	fmt.Fprintf(h, "%d", seed)
	for _, p := range parts {
		fmt.Fprintf(h, "|%d:%s", len(p), p)
	}
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / (1 << 53)
}

// ask asks a call up to tries times: an answer that cannot be read, or that
// check turns down with a DropError, is asked for again as the next sample, by a
// prompt that says what was wrong; check may be nil. Without an answer in the
// end the record waits (pending), nobody can know (no rule), or it is set aside
// with the class of the last answer, or check's reason.
func ask[Out any](ctx context.Context, pass *transform.Pass, c llm.Call[prompt, Out], in prompt, tries int, check func(Out) error) (llm.Result[Out], error) {
	var res llm.Result[Out]
	var drop *transform.DropError
	for n := range tries {
		var err error
		res, err = c.Do(ctx, pass.Model, in, n)
		if err != nil {
			return res, err
		}
		if res.Outcome == llm.NoRule {
			return res, nil
		}
		if res.Pending() {
			return res, transform.ErrPending
		}
		drop, in.Wrong = nil, ""
		switch {
		case res.OK():
			if check == nil {
				return res, nil
			}
			err := check(res.Value)
			if err == nil || !errors.As(err, &drop) || pass.Engine() == "rules" { // rules would say the same again
				return res, err
			}
			in.Wrong = drop.Detail
		case res.Outcome == llm.ParseFailed || res.Outcome == llm.Echo:
			in.Wrong = res.Reason
		}
	}
	if drop != nil {
		return res, transform.Drop(drop.Reason, fmt.Sprintf("%s (asked %d times)", drop.Detail, tries), drop.Evidence...)
	}
	return res, transform.Drop(string(res.Outcome), fmt.Sprintf("%s: no readable answer in %d tries: %s", c.Stage, tries, res.Reason))
}

// part makes a Run of a function that adds a part to a draft: a variant, its
// types. What sets the part aside or lets it wait leaves the draft as it came,
// and the steps behind go on asking.
func part(add func(context.Context, *transform.Pass, *schemas.Draft) error) func(context.Context, *transform.Pass, schemas.Draft) ([]schemas.Draft, error) {
	return func(ctx context.Context, pass *transform.Pass, d schemas.Draft) ([]schemas.Draft, error) {
		with := d
		err := add(ctx, pass, &with)
		var drop *transform.DropError
		switch {
		case err == nil:
			return []schemas.Draft{with}, nil
		case errors.As(err, &drop):
			pass.SetAside(d.DraftID, drop.Reason, drop.Detail, drop.Evidence...)
		case errors.Is(err, transform.ErrPending):
			pass.Await()
		default:
			return nil, err
		}
		return []schemas.Draft{d}, nil
	}
}

// stamp adds a line of provenance. Inputs are the keys of the answers used, or
// the hash of the text.
func stamp(d *schemas.Draft, pass *transform.Pass, step, version string, t *llm.Template, model string, keys ...llm.Key) {
	p := schemas.Provenance{Step: "make/" + step, Version: version, InputHash: d.Original.TextHash}
	if t != nil {
		p.Engine, p.Model, p.PromptHash = pass.Engine(), model, t.Hash
	}
	if len(keys) == 1 {
		p.InputHash = keys[0].String()
	} else if len(keys) > 1 {
		h := sha256.New()
		for _, k := range keys {
			h.Write(k[:])
		}
		p.InputHash = hex.EncodeToString(h.Sum(nil))
	}
	d.Provenance = append(slices.Clip(d.Provenance), p)
}

// sentencesOf returns the sentences of a variant as strings.
func sentencesOf(v *schemas.Variant) []string {
	ix := text.NewIndex(v.Text)
	out := make([]string, len(v.Sentences))
	for i, b := range v.Sentences {
		out[i] = byteRange(ix, b).Of(v.Text)
	}
	return out
}

// oneLine puts a passage on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// readVariant reads a variant's text for questions about speech and the like.
func readVariant(v *schemas.Variant) *offline.Story {
	ix := text.NewIndex(v.Text)
	var sents []text.Range
	for _, b := range v.Sentences {
		sents = append(sents, byteRange(ix, b))
	}
	return offline.Read("", "", v.Text, sents, nil)
}
