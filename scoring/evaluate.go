// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/retcon-bench/retcon/schemas"
)

// Allow turns a refusal into a counted exception. What was allowed stands in
// the [Binding], which belongs beside the scores.
type Allow struct {
	Missing bool // rows without prediction: scored as unanswered
	Unknown bool // predictions of rows that the key does not hold: left out
	Doubled bool // a second prediction of the same row, run and sample: the first counts
	Stale   bool // predictions made on another text: scored as unanswered
	Release bool // predictions that name another release or digest: scored as they are
	Bad     bool // lines that cannot be read: left out
}

// Options of [Evaluate].
type Options struct {
	Scorers []Scorer // empty = [Default] alone
	Allow   Allow
	Workers int // goroutines that judge; 0 = GOMAXPROCS
	// Where, unless nil, names the place of the prediction read last, for
	// errors; else they count predictions.
	Where func() string
}

// Binding counts how predictions fit the key.
type Binding struct {
	Rows    int `json:"rows"`  // of the key, times the samples of the run
	Bound   int `json:"bound"` // predictions that fit
	Missing int `json:"missing"`
	Unknown int `json:"unknown"`
	Doubled int `json:"doubled"`
	Stale   int `json:"stale"`
	Release int `json:"release"` // name another release or digest
	Bad     int `json:"bad"`     // unreadable lines
	// Unchecked predictions carry no text_hash: that they were made on these
	// texts is the user's word.
	Unchecked int `json:"unchecked"`
}

func (b *Binding) add(c Binding) {
	b.Rows += c.Rows
	b.Bound += c.Bound
	b.Missing += c.Missing
	b.Unknown += c.Unknown
	b.Doubled += c.Doubled
	b.Stale += c.Stale
	b.Release += c.Release
	b.Bad += c.Bad
	b.Unchecked += c.Unchecked
}

// Run is one system under one prompt.
type Run struct {
	Model  string `json:"model"`
	Prompt string `json:"prompt"`
}

// String is "model, prompt".
func (r Run) String() string {
	switch {
	case r.Prompt == "":
		return cmp.Or(r.Model, "unnamed")
	case r.Model == "":
		return "unnamed, " + r.Prompt
	}
	return r.Model + ", " + r.Prompt
}

// Sheet is one run as one scorer sees it. It has a verdict for each row and
// sample, in the key's order, sample by sample.
type Sheet struct {
	Run      Run
	Scorer   Scorer
	Samples  int
	Verdicts []Verdict
	Binding  Binding
}

// System names a sheet's verdicts for [CompareAll].
func (s Sheet) System() System { return System{s.Run.String(), s.Verdicts} }

// Evaluation is what [Evaluate] returns.
type Evaluation struct {
	Config  string
	Sheets  []Sheet // by run, then in the order of Options.Scorers
	Binding Binding // of all runs, with what belongs to no run
}

// BindError says that predictions do not fit the key. Nothing was scored.
type BindError struct {
	Config   string
	Binding  Binding
	Problems []string // one line each, with the first few ids
}

func (e *BindError) Error() string {
	return fmt.Sprintf("predictions do not fit %s:\n  %s", e.Config, strings.Join(e.Problems, "\n  "))
}

// sheet in the making: verdicts[scorer][sample] with one slot a row.
type runSheet struct {
	run     Run
	samples []*sampleSheet
	byNum   map[int]*sampleSheet
	binding Binding
}

type sampleSheet struct {
	num      int
	filled   []bool
	verdicts [][]Verdict // by scorer
}

// job is one prediction and the slots its verdicts go to.
type job struct {
	p     schemas.Prediction
	item  *Item
	to    *sampleSheet
	stale bool
}

const batchSize = 512

// maxSamples bounds the samples of a run: each has a verdict for every row.
const maxSamples = 10000

// Evaluate binds predictions to the key and judges each with every scorer. It
// reads preds once and keeps no text, so that a million predictions fit. The
// result does not depend on their order, but for which of two doubled ones
// counts, nor on workers.
//
// The first error of preds ends it, unless it is a [*LineError] and Allow.Bad
// is set. What does not fit the key is a [*BindError] that names it all, at
// the end of the input.
func Evaluate(key *Key, preds iter.Seq2[schemas.Prediction, error], o Options) (*Evaluation, error) {
	if len(o.Scorers) == 0 {
		o.Scorers = []Scorer{Default}
	}
	e := evaluator{key: key, o: o, runs: map[Run]*runSheet{}, examples: map[string][]string{}}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	jobs := make(chan []job, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for batch := range jobs {
				for i := range batch {
					batch[i].judge(o.Scorers)
				}
			}
		})
	}
	err := e.read(preds, jobs)
	close(jobs)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	return e.finish()
}

func (j *job) judge(scorers []Scorer) {
	for i, s := range scorers {
		v := &j.to.verdicts[i][j.item.pos]
		if j.stale {
			*v = Verdict{Item: j.item, Sample: j.p.Sample, Outcome: OutcomeStale}
			continue
		}
		*v = s.Judge(j.item, &j.p)
	}
}

type evaluator struct {
	key      *Key
	o        Options
	runs     map[Run]*runSheet
	outside  Binding             // of no run
	examples map[string][]string // of each problem, for the error
}

func (e *evaluator) note(problem, what string) {
	if len(e.examples[problem]) < 5 {
		e.examples[problem] = append(e.examples[problem], what)
	}
}

func (e *evaluator) where(n int) string {
	if e.o.Where != nil {
		return e.o.Where()
	}
	return fmt.Sprintf("prediction %d", n)
}

func (e *evaluator) read(preds iter.Seq2[schemas.Prediction, error], jobs chan<- []job) error {
	var batch []job
	var run *runSheet
	n := 0
	for p, err := range preds {
		if err != nil {
			var line *LineError
			if errors.As(err, &line) && e.o.Allow.Bad {
				e.outside.Bad++
				continue
			}
			return err
		}
		n++
		it := e.key.byID[p.ExampleID]
		if it == nil {
			e.outside.Unknown++
			e.note("unknown", fmt.Sprintf("%s (%s)", p.ExampleID, e.where(n)))
			continue
		}
		if r := (Run{p.Model, p.Prompt}); run == nil || run.run != r {
			if run = e.runs[r]; run == nil {
				run = &runSheet{run: r, byNum: map[int]*sampleSheet{}}
				e.runs[r] = run
			}
		}
		if len(run.samples) >= maxSamples && run.byNum[p.Sample] == nil {
			return fmt.Errorf("%s: %s has more than %d sample numbers: is sample a row number?", e.where(n), run.run, maxSamples)
		}
		s := run.sample(p.Sample, len(e.key.items), len(e.o.Scorers))
		if s.filled[it.pos] {
			run.binding.Doubled++
			e.note("doubled", fmt.Sprintf("%s of %s (%s)", p.ExampleID, run.run, e.where(n)))
			continue
		}
		s.filled[it.pos] = true
		j := job{p: p, item: it, to: s}
		if p.TextHash == "" {
			run.binding.Unchecked++
		} else if p.TextHash != it.TextHash {
			j.stale = true
			run.binding.Stale++
			e.note("stale", fmt.Sprintf("%s of %s (%s)", p.ExampleID, run.run, e.where(n)))
		}
		if other(p.Release, e.key.Release) || other(p.Digest, e.key.Digest) {
			run.binding.Release++
			e.note("release", fmt.Sprintf("%s of %s (%s) names %s", p.ExampleID, run.run, e.where(n), strings.TrimSpace(p.Release+" "+p.Digest)))
		}
		run.binding.Bound++
		batch = append(batch, j)
		if len(batch) == batchSize {
			jobs <- batch
			batch = make([]job, 0, batchSize)
		}
	}
	if len(batch) > 0 {
		jobs <- batch
	}
	if n == 0 && e.outside.Bad == 0 {
		return errors.New("no predictions to score")
	}
	return nil
}

// other reports that two names are given and differ.
func other(a, b string) bool { return a != "" && b != "" && a != b }

func (r *runSheet) sample(num, rows, scorers int) *sampleSheet {
	if s := r.byNum[num]; s != nil {
		return s
	}
	s := &sampleSheet{num: num, filled: make([]bool, rows), verdicts: make([][]Verdict, scorers)}
	for i := range s.verdicts {
		s.verdicts[i] = make([]Verdict, rows)
	}
	r.byNum[num] = s
	r.samples = append(r.samples, s)
	return s
}

func (e *evaluator) finish() (*Evaluation, error) {
	runs := make([]*runSheet, 0, len(e.runs))
	for _, r := range e.runs {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *runSheet) int {
		return cmp.Or(cmp.Compare(a.run.Model, b.run.Model), cmp.Compare(a.run.Prompt, b.run.Prompt))
	})
	ev := &Evaluation{Config: e.key.Config, Binding: e.outside}
	for _, r := range runs {
		slices.SortFunc(r.samples, func(a, b *sampleSheet) int { return cmp.Compare(a.num, b.num) })
		r.binding.Rows = len(e.key.items) * len(r.samples)
		for _, s := range r.samples {
			for pos, filled := range s.filled {
				if filled {
					continue
				}
				r.binding.Missing++
				it := e.key.items[pos]
				e.note("missing", fmt.Sprintf("%s of %s", it.ID, r.run))
				for i := range s.verdicts {
					s.verdicts[i][pos] = Verdict{Item: it, Sample: s.num, Outcome: OutcomeMissing}
				}
			}
		}
		ev.Binding.add(r.binding)
		for i, scorer := range e.o.Scorers {
			sh := Sheet{Run: r.run, Scorer: scorer, Samples: len(r.samples), Binding: r.binding}
			for _, s := range r.samples {
				if len(r.samples) == 1 {
					sh.Verdicts = s.verdicts[i]
				} else {
					sh.Verdicts = append(sh.Verdicts, s.verdicts[i]...)
				}
				s.verdicts[i] = nil
			}
			ev.Sheets = append(ev.Sheets, sh)
		}
	}
	if err := e.problems(ev.Binding); err != nil {
		return nil, err
	}
	return ev, nil
}

// problems makes the error of what was found and not allowed.
func (e *evaluator) problems(b Binding) error {
	var out []string
	say := func(n int, allowed bool, kind, what string) {
		if n == 0 || allowed {
			return
		}
		line := fmt.Sprintf("%d %s: %s", n, what, strings.Join(e.examples[kind], ", "))
		if n > len(e.examples[kind]) {
			line += ", ..."
		}
		out = append(out, line)
	}
	a := e.o.Allow
	say(b.Unknown, a.Unknown, "unknown", "of rows that "+e.key.Config+" does not hold (another config or release?)")
	say(b.Missing, a.Missing, "missing", fmt.Sprintf("of %d rows have none", b.Rows))
	say(b.Doubled, a.Doubled, "doubled", "of a row, run and sample that has one already (number repeats as samples)")
	say(b.Stale, a.Stale, "stale", "made on another text (text_hash differs)")
	say(b.Release, a.Release, "release", "made on another version of the data than "+strings.TrimSpace(e.key.Release+" "+e.key.Digest))
	if len(out) == 0 {
		return nil
	}
	return &BindError{Config: e.key.Config, Binding: b, Problems: out}
}
