// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/pipeline"
	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/internal/review"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

type reviewCmd struct {
	Export reviewExportCmd `cmd:"" help:"Write the items that people are to judge, as JSON Lines, CSV or tasks of Label Studio."`
	Serve  reviewServeCmd  `cmd:"" help:"Ask the items on a page on this machine."`
	Import reviewImportCmd `cmd:"" help:"Read votes in any of these formats and write them as JSON Lines."`
	Status reviewStatusCmd `cmd:"" help:"What the votes decide so far: items, agreement, annotators."`
	Labels reviewLabelsCmd `cmd:"" help:"Print the labelling interface for Label Studio."`
}

// reviewFlags say which workspace and which votes.
type reviewFlags struct {
	Work  string   `help:"Workspace." default:"out.work" placeholder:"DIR"`
	Votes []string `help:"File of votes: JSON Lines, CSV, or an export of Label Studio. Repeat for several." placeholder:"FILE" sep:"none"`
}

// panel opens drafts and votes as the release would.
func (f reviewFlags) panel(e *env) (*reviewer, []schemas.Draft, error) {
	var recipe schemas.Recipe
	raw, err := os.ReadFile(filepath.Join(f.Work, "recipe.json"))
	if err == nil {
		err = schemas.JSONFault(json.Unmarshal(raw, &recipe))
	}
	if err != nil {
		return nil, nil, withHint(exitInput, "name a workspace with --work; `retcon make` or `retcon build` makes one",
			&fetch.Error{Op: "open workspace", Name: f.Work, Kind: fetch.Input, Err: err})
	}
	if m, err := pipeline.ReadManifest(filepath.Join(f.Work, makeDir)); err == nil { // else reading drafts tells
		if err := cmp.Or(fresh(f.Work, m), untouched(filepath.Join(f.Work, makeDir), m)); err != nil {
			return nil, nil, err
		}
	}
	var drafts []schemas.Draft
	for d, err := range pipeline.Records[schemas.Draft](filepath.Join(f.Work, makeDir)) {
		if err != nil {
			return nil, nil, err
		}
		drafts = append(drafts, d)
	}
	rev, err := openReviewer(e, recipe, f.Votes, sequence(drafts))
	return rev, drafts, err
}

type reviewExportCmd struct {
	reviewFlags
	Out    string `help:"File to write; - for standard output." default:"-" placeholder:"FILE"`
	Format string `help:"jsonl, csv or label-studio." enum:"jsonl,csv,label-studio" default:"jsonl"`
	Gates  int    `help:"Source stories with the same claim to put among the items: questions whose right answer is \"not valid\"." default:"0"`
	Limit  int    `help:"At most so many items; 0 = all." default:"0"`
}

func (*reviewExportCmd) Help() string {
	return `Items stand in the order of their ids, which is a shuffle and tells nothing.
With --votes, those that the votes have decided are left out. So is, whatever
the votes, each whose text no release may carry, with a warning: a file for
annotators passes texts on. ` + "`retcon review serve`" + ` asks those on this machine.
In the CSV each
annotator fills in the empty columns of a copy; for Label Studio, print the
interface with ` + "`retcon review labels`" + `.

  retcon review export --work w --format label-studio --gates 5 --out tasks.json`
}

func (cmd *reviewExportCmd) Run(e *env) error {
	items, err := cmd.items(e, cmd.Gates, cmd.Limit, true)
	if err != nil {
		return err
	}
	return writeTo(e, cmd.Out, func(w io.Writer) error { return review.Write(w, cmd.Format, items) })
}

// items makes the questions that the votes have not decided yet, and gates. To
// hand out are those alone whose texts a release may carry: who gives a text to
// annotators passes it on, and their votes could put no row into a release.
func (f reviewFlags) items(e *env, wanted, limit int, handOut bool) ([]review.Item, error) {
	rev, drafts, err := f.panel(e)
	if err != nil {
		return nil, err
	}
	var items, gates []review.Item
	back := keptBack{}
	for _, d := range drafts {
		it, ok := review.FromDraft(d)
		if !ok || back.add(d.Source) && handOut {
			continue
		}
		if iv, voted := rev.votes[it.ExampleID]; !voted || rev.panel.Accept(iv) == scoring.Undecided {
			items = append(items, it)
		}
		if g, ok := review.Gate(d); ok && !slices.ContainsFunc(gates, func(o review.Item) bool { return o.ExampleID == g.ExampleID }) {
			gates = append(gates, g)
		}
	}
	switch {
	case handOut && len(items) == 0 && len(back) > 0:
		return nil, withHint(exitInput, "`retcon review serve` asks them on this machine",
			fmt.Errorf("there is nothing to hand out: the terms keep texts back from a release, and so from a file for annotators: %s", back))
	case handOut:
		back.warn(e, "left out: no release may carry these texts, so no file for annotators does")
	default:
		back.warn(e, "no release may carry some of these texts: they are for this machine only")
	}
	byID := func(a, b review.Item) int { return cmp.Compare(a.ExampleID, b.ExampleID) }
	slices.SortFunc(items, byID)
	slices.SortFunc(gates, byID)
	if limit > 0 {
		items = items[:min(limit, len(items))]
	}
	if len(gates) < wanted {
		e.log.Warn("fewer gate questions than asked for", "wanted", wanted, "got", len(gates))
	}
	items = append(items, gates[:min(wanted, len(gates))]...)
	slices.SortFunc(items, byID)
	e.log.Info("items to judge", "items", len(items))
	return items, nil
}

type reviewServeCmd struct {
	reviewFlags
	Gates int    `help:"Source stories with the same claim to put among the items: questions whose right answer is \"not valid\"." default:"0"`
	Limit int    `help:"At most so many items; 0 = all." default:"0"`
	Port  int    `help:"Port on this machine; 0 = a free one." default:"0"`
	DB    string `name:"db" help:"File of the answers. Default: review.db in the workspace." placeholder:"FILE"`
}

func (*reviewServeCmd) Help() string {
	return `Asks the items on a page on this machine, for anybody who sits at it; answers
are kept one by one. Ctrl-C ends it. The file of answers is itself a file of
votes:

  retcon review serve --work w --gates 5
  retcon release --work w --votes w/review.db --out R`
}

func (cmd *reviewServeCmd) Run(e *env) error {
	items, err := cmd.items(e, cmd.Gates, cmd.Limit, false)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return withHint(exitInput, "", errors.New("there is nothing to judge"))
	}
	store, err := review.OpenStore(e.ctx, cmp.Or(cmd.DB, filepath.Join(cmd.Work, "review.db")))
	if err != nil {
		return withHint(exitInput, "name another file with --db", err)
	}
	defer store.Close()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(cmd.Port)))
	if err != nil {
		return withHint(exitUsage, "name another --port", err)
	}
	server := &http.Server{Handler: review.NewServer(items, store, e.log).Handler(), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(e.stdout, "http://%s/ asks %d items; Ctrl-C ends it\n", l.Addr(), len(items))
	go func() {
		for !pipeline.Draining(e.ctx) && e.ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		_ = server.Shutdown(context.WithoutCancel(e.ctx))
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type reviewImportCmd struct {
	Files []string `arg:"" help:"Files of votes: JSON Lines, CSV, or exports of Label Studio; told apart by their content."`
	Out   string   `help:"File to write; - for standard output." default:"-" placeholder:"FILE"`
}

func (*reviewImportCmd) Help() string {
	return `  retcon review import ann.csv bob.csv label-studio.json --out votes.jsonl`
}

func (cmd *reviewImportCmd) Run(e *env) error {
	votes, err := readVotes(e, cmd.Files)
	if err != nil {
		return err
	}
	return writeTo(e, cmd.Out, func(w io.Writer) error {
		var line []byte
		for _, v := range votes {
			var err error
			if line, err = schemas.AppendLine(line[:0], v); err != nil {
				return fmt.Errorf("%s by %s: %w", v.ExampleID, v.Annotator, err)
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// readVotes reads files of votes one after the other, in the order given: of
// two votes without a time the later counts.
func readVotes(e *env, files []string) ([]schemas.Vote, error) {
	var votes []schemas.Vote
	for _, name := range files {
		f, err := openInput(name)
		if err != nil {
			return nil, err
		}
		got, format, err := readVotesFile(e, name, f)
		f.Close()
		if err != nil {
			return nil, withHint(exitInput, "votes are JSON Lines (schemas/FORMAT.md), a CSV with example_id, annotator and valid, or an export of Label Studio", err)
		}
		e.log.Debug("votes read", "file", name, "format", format, "votes", len(got))
		votes = append(votes, got...)
	}
	return votes, nil
}

// readVotesFile reads one file, which may be the store of `retcon review serve`.
func readVotesFile(e *env, name string, f *os.File) ([]schemas.Vote, string, error) {
	head := make([]byte, len(review.StoreMagic))
	n, _ := io.ReadFull(f, head)
	if string(head[:n]) != review.StoreMagic {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return review.ReadVotes(name, io.MultiReader(bytes.NewReader(head[:n]), f)) // a pipe
		}
		return review.ReadVotes(name, f)
	}
	store, err := review.OpenStore(e.ctx, name)
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	votes, err := store.Votes(e.ctx)
	return votes, "sqlite", err
}

type reviewStatusCmd struct {
	reviewFlags
	JSON bool `name:"json" help:"As JSON."`
}

func (*reviewStatusCmd) Help() string {
	return `Counts the items that retcon review export hands out. Those whose text no release
may carry are named apart, with or without votes.

  retcon review status --work w --votes votes.jsonl`
}

func (cmd *reviewStatusCmd) Run(e *env) error {
	rev, drafts, err := cmd.panel(e)
	if err != nil {
		return err
	}
	if len(cmd.Votes) == 0 {
		return usagef("name the votes with --votes FILE")
	}
	// Items are those that export hands out; what the terms keep back gets into
	// no release, whatever people say of it.
	items, without, back := map[string]bool{}, 0, keptBack{}
	for _, d := range drafts {
		it, ok := review.FromDraft(d)
		if !ok || back.add(d.Source) {
			continue
		}
		items[it.ExampleID] = true
		if _, voted := rev.votes[it.ExampleID]; !voted {
			without++
		}
	}
	states := map[scoring.State]int{}
	var open []string
	for _, iv := range rev.panel.Items {
		if !items[iv.ExampleID] {
			continue
		}
		s := rev.panel.Accept(iv)
		states[s]++
		if s == scoring.Undecided {
			open = append(open, iv.ExampleID)
		}
	}
	people := &report.Table{Columns: []string{"annotator", "votes that count", "gates", "right", "counts"}}
	for _, a := range rev.panel.Annotators {
		counts := "yes"
		if !a.Passed {
			counts = "no"
		}
		people.Add(a.Name, a.Votes, a.Gates, a.GatesRight, counts)
	}
	aside := map[string]int{}
	for _, a := range rev.panel.SetAside {
		aside[a.Reason]++
	}
	if cmd.JSON {
		type annotator struct {
			Name   string `json:"name"`
			Votes  int    `json:"votes"`
			Gates  int    `json:"gates"`
			Right  int    `json:"right"`
			Passed bool   `json:"passed"`
		}
		out := struct {
			Items      int               `json:"items"`
			KeptBack   []schemas.Count   `json:"kept_back"` // by corpus and terms
			Without    int               `json:"without_votes"`
			Accepted   int               `json:"accepted"`
			Rejected   int               `json:"rejected"`
			Undecided  []string          `json:"undecided"`
			Replaced   int               `json:"replaced"`
			SetAside   []schemas.Count   `json:"set_aside"`
			Agreement  schemas.Agreement `json:"agreement"`
			Annotators []annotator       `json:"annotators"`
		}{len(items), pipeline.SortedCounts(back), without, states[scoring.Accepted], states[scoring.Rejected], append([]string{}, open...), len(rev.panel.History), pipeline.SortedCounts(aside), rev.agreement(), []annotator{}}
		for _, a := range rev.panel.Annotators {
			out.Annotators = append(out.Annotators, annotator{a.Name, a.Votes, a.Gates, a.GatesRight, a.Passed})
		}
		return writeJSON(e.stdout, out)
	}
	t := &report.Table{Columns: []string{"items", "without votes", "accepted", "rejected", "undecided"}}
	if len(back) > 0 {
		t.Notes = append(t.Notes, "kept back by their terms, and counted nowhere above: "+back.String())
	}
	t.Add(len(items), without, states[scoring.Accepted], states[scoring.Rejected], states[scoring.Undecided])
	votes := &report.Table{Columns: []string{"votes that do not count", ""}}
	votes.Add("replaced by a later one", len(rev.panel.History))
	for _, c := range pipeline.SortedCounts(aside) {
		votes.Add(c.Name, c.N)
	}
	for _, t := range []*report.Table{t, agreementTableOf([]schemas.Agreement{rev.agreement()}), people, votes} {
		if err := t.Write(e.stdout, report.Text); err != nil {
			return err
		}
		fmt.Fprintln(e.stdout)
	}
	if len(open) > 0 {
		fmt.Fprintln(e.stdout, "one more annotator decides:", strings.Join(open, " "))
	}
	return nil
}

// agreementTableOf lists how far people agreed.
func agreementTableOf(list []schemas.Agreement) *report.Table {
	t := &report.Table{Columns: []string{"agreement", "shown", "kept", "raw", "Fleiss' kappa", "Krippendorff's alpha"}}
	for _, a := range list {
		t.Add(a.Config, a.Shown, a.Kept, orNA(a.Raw), orNA(a.Fleiss), orNA(a.Alpha))
	}
	return t
}

// orNA is a figure that may be undefined.
func orNA(f *float64) any {
	if f == nil {
		return "n/a"
	}
	return *f
}

type reviewLabelsCmd struct{}

func (*reviewLabelsCmd) Help() string { return "  retcon review labels > review.xml" }

func (reviewLabelsCmd) Run(e *env) error {
	_, err := io.WriteString(e.stdout, review.LabelConfig())
	return err
}
