// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/internal/llm"
	"github.com/retcon-bench/retcon/internal/llm/openai"
)

// Store takes answers in and knows which are awaited.
type Store interface {
	llm.Store
	Ledger
}

// Report says what [Import] found. Nothing that was in the files is in none of
// its counts.
type Report struct {
	Lines    int            // in all files, blank ones left out
	Answered int            // new answers, of whatever class
	Refused  map[string]int // requests that failed for good, by code
	Again    map[string]int // requests that failed for now, by code: they stay pending
	Known    int            // answers that the store had already
	Repeated int            // further lines for a request that these files answer
	Unknown  int            // lines for requests that are not ours
	Broken   []string       // lines that cannot be read, "file:line: reason", the first 20
	NBroken  int
	Cut      []string // files whose last line is half written: "file:line"
	Missing  int      // requests still without an answer
}

// String returns the report as lines for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lines: %d answered", r.Lines, r.Answered)
	for _, x := range []struct {
		n    int
		text string
	}{{r.Known, "known already"}, {r.Repeated, "repeated"}, {r.Unknown, "for requests that are not ours"}, {r.NBroken, "broken"}, {len(r.Cut), "cut off"}} {
		if x.n > 0 {
			fmt.Fprintf(&b, ", %d %s", x.n, x.text)
		}
	}
	fmt.Fprintf(&b, "; %d requests still wait\n", r.Missing)
	for _, code := range byCount(r.Refused) {
		fmt.Fprintf(&b, "failed for good: %d %s\n", r.Refused[code], code)
	}
	for _, code := range byCount(r.Again) {
		fmt.Fprintf(&b, "failed for now, to be asked again: %d %s\n", r.Again[code], code)
	}
	for _, s := range r.Broken {
		fmt.Fprintln(&b, s)
	}
	for _, s := range r.Cut {
		fmt.Fprintf(&b, "%s: the last line is cut off and was left out\n", s)
	}
	return b.String()
}

func byCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}

// response is a line of an output or error file.
type response struct {
	CustomID string `json:"custom_id"`
	Response *struct {
		StatusCode int             `json:"status_code"`
		RequestID  string          `json:"request_id"`
		Body       json.RawMessage `json:"body"`
	} `json:"response"`
	Error json.RawMessage `json:"error"`
}

// job is a batch object, as a service describes a batch.
type job struct {
	Object     string  `json:"object"`
	Status     string  `json:"status"`
	OutputFile *string `json:"output_file_id"`
	ErrorFile  *string `json:"error_file_id"`
	Counts     struct {
		Total     int `json:"total"`
		Completed int `json:"completed"`
		Failed    int `json:"failed"`
	} `json:"request_counts"`
	Errors *struct {
		Data []struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"errors"`
}

const maxLine = 256 << 20

// Import reads output and error files of batches into the store: whichever
// files there are, in any order. Lines are joined to requests by custom_id,
// never by their place. An answer counts before an error for the same request;
// of two answers the first counts. Failures that may go away (rate limits,
// expired batches) leave the request pending; failures for good are stored as
// such, unless no answer came with them nor is in the store: then only those
// are that are about one request, such as a prompt too long for the model. A batch object among the
// files is read for what it says.
//
// The error is for files that cannot be read and for batches of which nothing
// came to good (C42): it then names the commonest reason. What was read up to
// there is kept.
func Import(ctx context.Context, st Store, paths ...string) (Report, error) {
	rep := Report{Refused: map[string]int{}, Again: map[string]int{}}
	pending, err := st.Pending(ctx)
	if err != nil {
		return rep, err
	}
	im := &importer{st: st, rep: &rep, ours: make(map[string]*entry, len(pending)), messages: map[string]int{}}
	for _, rec := range pending {
		im.ours[rec.Key.CustomID()] = &entry{rec: rec}
	}
	im.total = len(im.ours)
	rep.Missing = len(pending) // also where a file cannot be read
	for _, path := range paths {
		if err := im.file(ctx, path); err != nil {
			return rep, err
		}
	}
	if err := im.finish(ctx); err != nil {
		return rep, err
	}
	if pending, err = st.Pending(ctx); err != nil {
		return rep, err
	}
	rep.Missing = len(pending)
	return rep, im.verdict()
}

type entry struct {
	rec  llm.Record
	done bool
	fail *llm.CallError // the first failure for good
}

type importer struct {
	st       Store
	rep      *Report
	ours     map[string]*entry
	total    int
	wg       sync.WaitGroup
	sem      chan struct{}
	mu       sync.Mutex
	err      error
	messages map[string]int
	failed   int // lines that carry a failure
	jobs     []string
	setting  error
	doubted  int // failures for good that were not stored, lest all have one cause
	kept     int // failures for good that were stored although no answer came along
}

func (im *importer) file(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	first := true
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := readLine(r)
		end := err == io.EOF
		if err != nil && !end {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		whole := !end // a line break was there
		text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
		if len(text) > 0 {
			if first && im.isJob(path, text, r) {
				return nil
			}
			first = false
			im.rep.Lines++
			im.line(ctx, fmt.Sprintf("%s:%d", path, n), text, whole)
		}
		if im.failure() != nil {
			return im.failure()
		}
		if end {
			return nil
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return out, err
		}
	}
}

// isJob reports whether a file holds a batch object, on one line or several.
func (im *importer) isJob(path string, first []byte, r *bufio.Reader) bool {
	if first[0] != '{' {
		return false
	}
	text := append([]byte(nil), first...)
	if !json.Valid(text) {
		const most = 1 << 20
		rest, err := r.Peek(most)
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return false
		}
		text = append(append(text, '\n'), rest...)
	}
	var j job
	if json.Unmarshal(text, &j) != nil || j.Object != "batch" {
		return false
	}
	some := func(id *string) bool { return id != nil && *id != "" } // "" means none
	switch {
	case j.Errors != nil && len(j.Errors.Data) > 0:
		im.jobs = append(im.jobs, fmt.Sprintf("%s: batch %s: %s", path, j.Status, j.Errors.Data[0].Message))
	case !some(j.OutputFile) && some(j.ErrorFile):
		im.jobs = append(im.jobs, fmt.Sprintf("%s: batch %s, %d of %d failed, no output file: import its error file %s too", path, j.Status, j.Counts.Failed, j.Counts.Total, *j.ErrorFile))
	case j.Status != "completed" && j.Status != "expired" && j.Status != "cancelled":
		im.jobs = append(im.jobs, fmt.Sprintf("%s: batch %s: import its files when it is done", path, j.Status))
	}
	return true
}

func (im *importer) broken(where, why string) {
	im.rep.NBroken++
	if len(im.rep.Broken) < 20 {
		im.rep.Broken = append(im.rep.Broken, where+": "+why)
	}
}

func (im *importer) line(ctx context.Context, where string, text []byte, whole bool) {
	var res response
	if err := json.Unmarshal(text, &res); err != nil {
		if !whole {
			im.rep.Cut = append(im.rep.Cut, where) // C47
		} else {
			var typ *json.UnmarshalTypeError
			if errors.As(err, &typ) {
				im.broken(where, fmt.Sprintf("%s is a JSON %s, which it should not be", cmp.Or(typ.Field, "the line"), typ.Value))
				return
			}
			im.broken(where, "no JSON")
		}
		return
	}
	switch {
	case !utf8.Valid(text):
		// encoding/json would put U+FFFD in its place.
		im.broken(where, "not valid UTF-8")
		return
	case res.CustomID == "":
		im.broken(where, "no custom_id")
		return
	}
	e := im.ours[strings.ToLower(res.CustomID)]
	if e == nil {
		if im.known(ctx, res.CustomID) {
			im.rep.Known++
		} else {
			im.rep.Unknown++
		}
		return
	}
	if e.done {
		im.rep.Repeated++
		return
	}
	a, err := read(res)
	if err == nil {
		e.done = true
		im.rep.Answered++
		rec := e.rec
		rec.Answer = a
		im.put(ctx, rec)
		return
	}
	if e.fail != nil {
		im.rep.Repeated++
		return
	}
	ce := openai.AsCallError(err)
	code := cmp.Or(ce.Code, ce.Type, fmt.Sprint("HTTP ", ce.Status))
	im.failed++
	im.messages[ce.Error()]++
	switch {
	case llm.StopClassOf(err) != "" || ce.Setting != "":
		if im.setting == nil {
			class := llm.StopClassOf(err)
			im.setting = llm.Stop(cmp.Or(class, llm.StopSetting), fmt.Errorf("%s: %w", where, ce))
		}
		im.rep.Again[code]++
	case ce.Temporary:
		im.rep.Again[code]++
	default:
		e.fail = ce // stored at the end, unless an answer comes
		im.rep.Refused[code]++
	}
}

// read reads a line's answer, wherever its error may stand (C41).
func read(res response) (llm.Answer, error) {
	if res.Response == nil || len(res.Response.Body) == 0 {
		if len(res.Error) == 0 || string(res.Error) == "null" {
			return llm.Answer{}, &llm.CallError{Code: "no_response", Message: "the line holds neither answer nor error", Temporary: true}
		}
		return llm.Answer{}, openai.ParseError(0, nil, append(append([]byte(`{"error":`), res.Error...), '}'))
	}
	if s := res.Response.StatusCode; s != 0 && (s < 200 || s > 299) {
		return llm.Answer{}, openai.ParseError(s, nil, res.Response.Body)
	}
	a, err := openai.ParseResponse(res.Response.Body)
	if err == nil && res.Response.RequestID != "" {
		a.Headers = map[string]string{"x-request-id": res.Response.RequestID}
	}
	return a, err
}

// known reports whether the store has an answer by that custom_id.
func (im *importer) known(ctx context.Context, id string) bool {
	finder, ok := im.st.(interface {
		Find(ctx context.Context, prefix string) ([]llm.Record, error)
	})
	if !ok || len(id) != 32 {
		return false
	}
	recs, err := finder.Find(ctx, id)
	return err == nil && len(recs) > 0
}

// put stores a record; many at a time share a commit.
func (im *importer) put(ctx context.Context, rec llm.Record) {
	if im.sem == nil {
		im.sem = make(chan struct{}, 256)
	}
	_, rec.Class, _ = llm.Classify(llm.Model{}, llm.Request{}, rec.Answer)
	im.sem <- struct{}{}
	im.wg.Go(func() {
		defer func() { <-im.sem }()
		if err := im.st.Put(ctx, rec); err != nil {
			im.mu.Lock()
			im.err = cmp.Or(im.err, err)
			im.mu.Unlock()
		}
	})
}

func (im *importer) failure() error {
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.err
}

// aboutOne are the codes that say something about one request alone.
var aboutOne = map[string]bool{
	"context_length_exceeded": true, "string_above_max_length": true, "answer_too_large": true,
	"content_filter": true, "content_policy_violation": true, "invalid_prompt": true,
}

// finish stores the failures for good to which no answer came.
func (im *importer) finish(ctx context.Context) error {
	works, err := im.proven(ctx)
	if err != nil {
		return err
	}
	for _, e := range im.ours {
		if e.fail == nil {
			continue
		}
		if e.done {
			im.rep.Refused[cmp.Or(e.fail.Code, e.fail.Type, fmt.Sprint("HTTP ", e.fail.Status))]--
			continue
		}
		if im.rep.Answered == 0 && im.rep.Known == 0 && !aboutOne[e.fail.Code] {
			if !works(e.rec) {
				im.doubted++
				continue // most likely a mistake that is the same for all
			}
			im.kept++
		}
		rec := e.rec
		rec.Answer = llm.Answer{Error: e.fail}
		im.put(ctx, rec)
	}
	maps.DeleteFunc(im.rep.Refused, func(_ string, n int) bool { return n == 0 })
	im.wg.Wait()
	return im.failure()
}

// proven returns whether the store holds an answer of a request's stage and
// model: then what fails now is the request and not how all are asked. An
// error file may so be imported after its output file.
func (im *importer) proven(ctx context.Context) (func(llm.Record) bool, error) {
	st, ok := im.st.(llm.Labeled)
	if !ok || im.rep.Answered > 0 || im.rep.Known > 0 || im.failed == 0 {
		return func(llm.Record) bool { return false }, nil
	}
	labels, err := st.Labels(ctx)
	if err != nil {
		return nil, err
	}
	return func(r llm.Record) bool {
		return slices.ContainsFunc(labels, func(l llm.Label) bool {
			return l.Class == llm.OK && l.Stage == r.Stage && l.Model == r.Model && l.Revision == r.Revision
		})
	}, nil
}

// FilesError says why files hold no answer of this workspace.
type FilesError struct{ Why string }

func (e *FilesError) Error() string { return e.Why }

// verdict is the error of an import of which nothing came to good.
func (im *importer) verdict() error {
	if im.setting != nil {
		return im.setting
	}
	if im.rep.Answered > 0 || im.rep.Known > 0 || im.kept > 0 && im.doubted == 0 {
		return nil
	}
	if im.failed > 0 {
		return llm.Stop(llm.StopSetting, fmt.Errorf("%d of %d requests failed, most of them with: %s", im.failed, im.total, byCount(im.messages)[0]))
	}
	if len(im.jobs) > 0 {
		return &FilesError{strings.Join(im.jobs, "; ")}
	}
	switch {
	case im.rep.NBroken > 0:
		return &FilesError{"no line can be read as a batch answer: " + im.rep.Broken[0]}
	case im.rep.Unknown > 0:
		return &FilesError{fmt.Sprintf("none of the %d lines answers a request of this workspace: run the command that asks first, and import into the same workspace", im.rep.Unknown)}
	case im.rep.Lines == 0:
		return &FilesError{"the files hold no answers"}
	}
	return nil
}
