// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Options configure a [Client]. Engine is needed; everything else has a
// default.
type Options struct {
	Engine Generator
	// Store keeps answers; nil keeps none. Answers of an engine that computes
	// them (rules) are never stored: they are code, and code changes.
	Store Store
	// Models is the recipe's table. A model that a stage names must be in it.
	Models []Model
	// Default names the model of stages that name none; "" = the first model,
	// or, with an empty table, a model of the engine's name.
	Default string
	// Stages is what the recipe says about stages, by stage name.
	Stages map[string]StageSetting

	Concurrency int     // calls in flight per model that declares none; 0 = 8
	BudgetUSD   float64 // hard stop for what this run spends; 0 = none
	// AskAgain asks once more what the store holds without a value: refusals,
	// truncations, empties, errors, and for calls with AskUnread what could not be
	// read. Without it they are final, so that a run
	// that is repeated gives the same data.
	AskAgain bool
	Seed     uint64        // of the jitter in waits, which no artifact shows
	MaxWait  time.Duration // longest single wait after a 429 or 5xx; 0 = 60 s
	Patience time.Duration // how long a storm of 429 is waited out; 0 = 15 min
	// Drain is how long a call in flight may go on after its context ended;
	// its answer is paid for and is committed. 0 = 30 s; negative = not at all.
	Drain time.Duration
	// Draining, when it returns true, lets no further call begin.
	Draining func(context.Context) bool
	Log      *slog.Logger // waits and retries, at debug and warn; never story text
}

const (
	defaultConcurrency = 8
	defaultTimeout     = 600 * time.Second
	defaultAttempts    = 6
	emptyRetries       = 2 // C40: an empty answer is asked again at once
	timeoutTries       = 2 // a hung server is not asked six times ten minutes
	hopeless           = 20
)

// errGone ends a wait because the caller or the run ended.
var errGone = errors.New("gone")

// Client asks an engine on behalf of calls: store first, each key once, within
// budget, rates and deadlines. It is safe for concurrent use.
type Client struct {
	opts     Options
	models   map[string]Model
	lanes    map[string]*lane
	computed bool
	budget   budget
	count    counters
	log      *slog.Logger

	mu       sync.Mutex
	flights  map[Key]*flight
	stop     error         // the StopError that ended the run
	stopped  chan struct{} // closed with it
	exhausts int           // calls given up in a row
	refused  map[string]int
	nrefused int // permanent errors in a row
}

// flight is a call that several callers may wait for. It lands when its answer
// is committed.
type flight struct {
	landed chan struct{}
	rec    Record
	err    error
}

// New returns a client, or an error that names what is wrong in the options.
func New(opts Options) (*Client, error) {
	if opts.Engine == nil {
		return nil, errors.New("llm: no engine")
	}
	comp, ok := opts.Engine.(interface{ Computed() bool })
	if len(opts.Models) == 0 {
		opts.Models = []Model{{Name: opts.Engine.Name()}}
	}
	opts.Default = cmp.Or(opts.Default, opts.Models[0].Name)
	opts.Concurrency = cmp.Or(opts.Concurrency, defaultConcurrency)
	opts.MaxWait = cmp.Or(opts.MaxWait, time.Minute)
	opts.Patience = cmp.Or(opts.Patience, 15*time.Minute)
	opts.Drain = cmp.Or(opts.Drain, 30*time.Second)
	c := &Client{
		opts: opts, models: map[string]Model{}, lanes: map[string]*lane{}, computed: ok && comp.Computed(),
		flights: map[Key]*flight{}, stopped: make(chan struct{}), refused: map[string]int{},
		count: counters{stages: map[stageKey]*stageCount{}, used: map[[16]byte]struct{}{}},
		log:   opts.Log,
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.budget.limit = opts.BudgetUSD
	for _, m := range opts.Models {
		switch {
		case m.Name == "":
			return nil, errors.New("llm: a model without a name in the table of models")
		case c.lanes[m.Name] != nil:
			return nil, fmt.Errorf("llm: model %q stands twice in the table of models", m.Name)
		case m.MaxTokensField != "" && m.MaxTokensField != "max_tokens" && m.MaxTokensField != "max_completion_tokens":
			return nil, fmt.Errorf("llm: model %q: max_tokens_field %q: want max_tokens or max_completion_tokens", m.Name, m.MaxTokensField)
		case opts.BudgetUSD > 0 && !c.computed && m.InputPrice == 0 && m.OutputPrice == 0:
			return nil, fmt.Errorf("llm: model %q declares no prices, so a budget cannot be kept: set input_price and output_price (USD per million tokens) in the recipe", m.Name)
		}
		c.models[m.Name] = m
		c.lanes[m.Name] = newLane(m, opts.Concurrency, opts.MaxWait, opts.Seed)
	}
	if _, ok := c.models[opts.Default]; !ok {
		return nil, fmt.Errorf("llm: default model %q is not in the table of models", opts.Default)
	}
	for stage, s := range opts.Stages {
		if _, ok := c.models[s.Model]; s.Model != "" && !ok {
			return nil, fmt.Errorf("llm: stage %s: model %q is not in the table of models", stage, s.Model)
		}
	}
	return c, nil
}

// Model returns the declared model of a stage.
func (c *Client) Model(stage string) Model {
	return c.models[cmp.Or(c.opts.Stages[stage].Model, c.opts.Default)]
}

// Engine returns the engine's name.
func (c *Client) Engine() string { return c.opts.Engine.Name() }

// request makes the request of a stage without its messages. An empty model
// is the stage's own.
func (c *Client) request(stage, model string, defaults Params, sample int) (Request, error) {
	if stage == "" {
		return Request{}, errors.New("llm: call without a stage")
	}
	m := c.Model(stage)
	if model != "" {
		var ok bool
		if m, ok = c.models[model]; !ok {
			return Request{}, fmt.Errorf("llm: model %q is not in the table of models", model)
		}
	}
	p := m.Allow(defaults.Over(c.opts.Stages[stage].Params))
	if p.Seed != nil && sample > 0 {
		// With one seed for all samples, a server that honours it would say the
		// same thing five times and look sure.
		p.Seed = Int64(*p.Seed + int64(sample))
	}
	return Request{Stage: stage, Model: m.Name, Revision: m.Revision, Params: p, Sample: sample}, nil
}

// Exchange is what [Client.Ask] returns: the raw answer, its class, and, when
// there is something to decode, the Reply.
type Exchange struct {
	Key     Key
	Answer  Answer
	Outcome Outcome // OK when Reply is set
	Reason  string
	Reply   *Reply
	Cached  bool
}

// Ask gets the answer of a request: from the store, from the same request
// already in flight, or from the engine. When it returns an answer, the answer
// is committed. Whatever the model or the server says about this one request
// is an outcome; the error is for what stops the run ([StopError]) or for ctx.
//
// Temporary failures are tried again; when that does not help the outcome is
// pending, with the reason: nothing is stored, the run goes on with the other
// records, and the next run asks again.
func (c *Client) Ask(ctx context.Context, req Request) (Exchange, error) {
	m, ok := c.models[req.Model]
	if !ok {
		return Exchange{}, fmt.Errorf("llm: model %q is not in the table of models", req.Model)
	}
	ex := Exchange{Key: req.Key()}
	rec, err := c.record(ctx, m, req, ex.Key)
	if err != nil {
		return ex, err
	}
	ex.Answer, ex.Cached = rec.Answer, rec.cached
	switch {
	case rec.Class == Pending || rec.Class == NoRule:
		ex.Outcome, ex.Reason = rec.Class, rec.reason
	case rec.made != nil && rec.made.reply == nil:
		ex.Outcome, ex.Reason = rec.made.outcome, rec.made.reason
	case rec.made != nil:
		reply := *rec.made.reply // others who waited get their own
		ex.Reply, ex.Outcome = &reply, OK
	default:
		// Classes are made anew from the raw answer: a better classifier serves
		// old answers too.
		ex.Reply, ex.Outcome, ex.Reason = Classify(m, req, rec.Answer)
	}
	c.count.exchanged(m, req, ex)
	return ex, nil
}

// record returns the record of a key: computed, joined, stored or fetched.
func (c *Client) record(ctx context.Context, m Model, req Request, key Key) (Record, error) {
	if c.computed {
		return c.compute(ctx, req, key)
	}
	for {
		if err := ctx.Err(); err != nil {
			return Record{}, err
		}
		c.mu.Lock()
		if f := c.flights[key]; f != nil {
			c.mu.Unlock()
			select {
			case <-f.landed:
			case <-ctx.Done():
				return Record{}, ctx.Err()
			}
			if errors.Is(f.err, errGone) {
				continue // its own caller left; we did not
			}
			return f.rec, f.err
		}
		f := &flight{landed: make(chan struct{})}
		c.flights[key] = f
		c.mu.Unlock()

		f.rec, f.err = c.fly(ctx, m, req, key)
		c.mu.Lock()
		delete(c.flights, key)
		stop := c.stop
		c.mu.Unlock()
		err := f.err
		if errors.Is(err, errGone) {
			if err = ctx.Err(); err == nil {
				err = cmp.Or(stop, context.Canceled)
			}
			if stop != nil {
				f.err = stop // for those who wait: the run is over
			}
		}
		close(f.landed)
		return f.rec, err
	}
}

func (c *Client) compute(ctx context.Context, req Request, key Key) (Record, error) {
	rec := newRecord(key, req)
	c.asked(req)
	a, err := c.opts.Engine.Generate(ctx, req)
	switch {
	case errors.Is(err, ErrNoRule):
		rec.Class, rec.reason = NoRule, err.Error()
		return rec, nil
	case errors.Is(err, ErrPending):
		rec.Class = Pending
		return rec, nil
	case err != nil:
		return rec, err
	}
	rec.Answer = a
	return rec, nil
}

// fly looks a key up and, when it is not there, asks the engine. The record
// that it returns is committed.
func (c *Client) fly(ctx context.Context, m Model, req Request, key Key) (Record, error) {
	if c.opts.Store != nil {
		rec, ok, err := c.opts.Store.Get(ctx, key)
		if err != nil {
			return rec, c.halt(err)
		}
		if ok && c.opts.AskAgain {
			var reply *Reply
			reply, _, _ = Classify(m, req, rec.Answer)
			ok = reply != nil && (req.readable == nil || req.readable(reply))
		}
		if ok {
			rec.cached = true
			return rec, nil
		}
	}
	rec := Record{Key: key, Class: OK}
	if c.opts.Store != nil {
		rec = newRecord(key, req)
	}
	c.mu.Lock()
	stop := c.stop
	c.mu.Unlock()
	switch {
	case stop != nil:
		return rec, stop
	case c.opts.Draining != nil && c.opts.Draining(ctx):
		return rec, fmt.Errorf("interrupted: %w", context.Canceled)
	}
	prompt := RoughPromptTokens(req)
	if m.Context > 0 && prompt*4/5 > m.Context {
		if n := PromptTokens(req); n > m.Context {
			rec.Class = APIError
			rec.Answer.Error = &CallError{Code: "context_length_exceeded", Message: fmt.Sprintf("the prompt has about %d tokens, the model's declared context is %d", n, m.Context)}
			return rec, nil
		}
	}
	answer := cmp.Or(req.Params.MaxTokens, defaultAnswer)
	cost := m.Cost(Usage{PromptTokens: prompt * 5 / 4, CompletionTokens: answer})
	if err := c.budget.reserve(ctx, c.stopped, cost); err != nil {
		return rec, c.halt(err)
	}
	defer c.budget.settle(cost)

	l := c.lanes[m.Name]
	if err := l.acquire(ctx, c.stopped, false); err != nil {
		return rec, err
	}
	// The place is held until the answer is committed: a call is in flight until
	// then, and a crash repeats no more calls than may be in flight.
	placed := true
	defer func() {
		if placed {
			l.release()
		}
	}()
	c.asked(req)

	rec, err := c.attempts(ctx, m, l, &placed, req, rec, prompt, prompt+answer)
	if err != nil {
		return rec, c.halt(err)
	}
	if rec.Class == Pending || c.opts.Store == nil {
		return rec, nil
	}
	// The answer is paid for: it is committed even when the caller has left.
	if err := c.opts.Store.Put(context.WithoutCancel(ctx), rec); err != nil {
		return rec, c.halt(fmt.Errorf("stage %s, answer %s: %w", req.Stage, key.CustomID(), err))
	}
	return rec, nil
}

// attempts tries one request until it is answered, refused for good, or given
// up. The caller has a place in the lane; placed says whether it still does.
func (c *Client) attempts(ctx context.Context, m Model, l *lane, placed *bool, req Request, rec Record, prompt, tokens int) (Record, error) {
	timeout := defaultTimeout
	if m.TimeoutSeconds > 0 {
		timeout = time.Duration(m.TimeoutSeconds) * time.Second
	}
	tries, timeouts, empties := 0, 0, 0
	for {
		if !*placed {
			if err := l.acquire(ctx, c.stopped, true); err != nil {
				return rec, err
			}
			*placed = true
		}
		epoch, err := l.wait(ctx, c.stopped, tokens)
		if err != nil {
			return rec, errGone
		}
		select {
		case <-c.stopped:
			return rec, errGone
		default:
		}
		callCtx, cancel := c.detach(ctx, timeout)
		began := time.Now()
		c.flying(req, +1)
		a, err := c.opts.Engine.Generate(callCtx, req)
		expired := callCtx.Err() != nil && ctx.Err() == nil
		cancel()
		c.flying(req, -1)
		if err == nil {
			if a.Latency == 0 {
				a.Latency = time.Since(began)
			}
			c.paid(m, req, a.Usage)
			l.success(a.Usage.PromptTokens + a.Usage.CompletionTokens - tokens)
			c.answered()
			rec.Answer = a
			made := &classified{}
			made.reply, made.outcome, made.reason = classify(m, req, a, prompt)
			rec.Class, rec.made = made.outcome, made
			if rec.Class == Empty && empties < emptyRetries && ctx.Err() == nil && c.budget.roomy() {
				empties++
				continue
			}
			return rec, nil
		}
		if errors.Is(err, ErrPending) {
			rec.Class = Pending
			return rec, nil
		}
		if errors.Is(err, ErrNoRule) {
			rec.Class, rec.reason = NoRule, err.Error()
			return rec, nil
		}
		if StopClassOf(err) != "" {
			return rec, err
		}
		if ctx.Err() != nil {
			return rec, errGone // drained, but not in time
		}
		var ce *CallError
		if expired {
			ce = &CallError{Temporary: true, Message: fmt.Sprintf("no whole answer within %s", timeout)}
			timeouts++
		} else if !errors.As(err, &ce) {
			return rec, fmt.Errorf("engine %s: %w", c.opts.Engine.Name(), err)
		}
		if !ce.Temporary {
			return c.refuse(l, rec, ce)
		}
		throttle := ce.Status == 429
		l.failure(epoch, ce.RetryAfter, throttle)
		// The place goes back, or all who hold one would knock at once when the
		// wait is over.
		l.release()
		*placed = false
		if throttle {
			if d := l.throttledFor(); d > c.opts.Patience {
				return rec, Stop(StopNetwork, fmt.Errorf("model %s: nothing but 429 for %s: lower concurrency or rates in the recipe, or try later: %w", m.Name, d.Round(time.Second), ce))
			}
			c.log.Debug("throttled", "model", m.Name, "stage", req.Stage, "error", ce.Error())
			continue
		}
		tries++
		c.log.Debug("call failed", "model", m.Name, "stage", req.Stage, "try", tries, "error", ce.Error())
		most, vain := cmp.Or(m.Attempts, defaultAttempts), l.inVain()
		if vain == 1 && most > 1 { // a server that is down is told at once, not when all is tried
			c.log.Warn("no answer yet; trying again", "model", m.Name, "error", ce.Error(),
				"tries", most, "waits", l.waits(most).String())
		}
		// Before the first answer one call is like another: they share their tries.
		if max(tries, vain) >= most || timeouts >= timeoutTries {
			return c.giveUp(m, l, rec, req, ce)
		}
	}
}

// giveUp leaves a request to the next run, or stops this one when the server
// seems to be gone.
func (c *Client) giveUp(m Model, l *lane, rec Record, req Request, ce *CallError) (Record, error) {
	c.mu.Lock()
	c.exhausts++
	n := c.exhausts
	c.mu.Unlock()
	const inARow = 5
	if vain := l.inVain(); vain > 0 {
		return rec, Stop(StopNetwork, fmt.Errorf("model %s: %d tries and no answer: %w", m.Name, vain, ce))
	}
	if n >= inARow {
		return rec, Stop(StopNetwork, fmt.Errorf("model %s: %d calls in a row failed: %w", m.Name, n, ce))
	}
	c.log.Warn("call given up for this run", "model", m.Name, "stage", req.Stage, "error", ce.Error())
	rec.Class, rec.reason = Pending, ce.Error()
	return rec, nil
}

// refuse records a failure for good, or stops the run when it is not about this
// one request.
func (c *Client) refuse(l *lane, rec Record, ce *CallError) (Record, error) {
	if ce.Setting != "" {
		return rec, Stop(StopSetting, ce)
	}
	l.success(0) // the server is there and answers
	c.mu.Lock()
	c.nrefused++
	c.refused[ce.Error()]++
	n := c.nrefused
	commonest := ""
	for text, k := range c.refused {
		if best := c.refused[commonest]; k > best || k == best && text < commonest {
			commonest = text
		}
	}
	c.mu.Unlock()
	if n >= hopeless {
		return rec, Stop(StopSetting, fmt.Errorf("%d requests in a row were refused, most of them with: %s", n, commonest))
	}
	rec.Answer.Error = ce
	rec.Class = errorOutcome(ce)
	return rec, nil
}

func (c *Client) answered() {
	c.mu.Lock()
	c.exhausts, c.nrefused = 0, 0
	clear(c.refused)
	c.mu.Unlock()
}

// halt remembers the error that stops the run. Calls in flight finish; no other
// begins.
func (c *Client) halt(err error) error {
	if StopClassOf(err) == "" {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		c.stop = err
		close(c.stopped)
	}
	return err
}

// detach returns the context of one attempt. It ends at the deadline, and a
// while after ctx: an answer that is under way is paid for.
func (c *Client) detach(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if c.opts.Drain < 0 {
		return context.WithTimeout(ctx, timeout)
	}
	d, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	var mu sync.Mutex
	var timer *time.Timer
	ended := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			timer = time.AfterFunc(c.opts.Drain, cancel)
		}
	})
	return d, func() {
		stop()
		mu.Lock()
		ended = true
		if timer != nil {
			timer.Stop()
		}
		mu.Unlock()
		cancel()
	}
}

func (c *Client) asked(req Request) {
	c.count.mu.Lock()
	c.count.stage(req).Asked++
	c.count.mu.Unlock()
}

// flying counts an attempt that begins (+1) or ends (-1).
func (c *Client) flying(req Request, d int) {
	c.count.mu.Lock()
	defer c.count.mu.Unlock()
	c.count.inflight += d
	if d < 0 {
		return
	}
	c.count.stage(req).Attempts++
	if c.count.began.IsZero() {
		c.count.began = time.Now()
	}
}

func (c *Client) paid(m Model, req Request, u Usage) {
	cost := m.Cost(u)
	c.budget.pay(cost)
	c.count.mu.Lock()
	s := c.count.stage(req)
	s.Spent = s.Spent.Add(u)
	s.SpentCost += cost
	c.count.mu.Unlock()
}
