// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/retcon-bench/retcon/schemas"
)

// Format is a form in which systems leave predictions behind.
type Format string

// The formats. Parquet is read in package datasets, which gives the same kind
// of iterator.
const (
	// FormatPredictions is JSON Lines of [schemas.Prediction].
	FormatPredictions Format = "predictions"
	// FormatCompletions is JSON Lines of raw answers: example_id, completion
	// (or text), and where known model, prompt, sample, text_hash,
	// finish_reason and token counts. Other fields are ignored.
	FormatCompletions Format = "completions"
	// FormatPublished is JSON Lines with the columns of the published data
	// set: example_id, cont_error, cont_error_expl, cont_error_lines and
	// contradicted_lines (<li> items, NA), and where known model, prompt, sample and
	// story (which binds the answer to its text).
	FormatPublished Format = "published"
	// FormatLMEval is a samples_*.jsonl file of lm-evaluation-harness: doc
	// (our row, with example_id), resps, filter. Each repeat is a sample; of
	// several filters the first is read, for resps do not depend on it.
	FormatLMEval Format = "lm-eval"
	// FormatInspect is a log of inspect, .json or .eval (a zip): samples with
	// id (our example_id), epoch, output. Metadata may hold text_hash.
	FormatInspect Format = "inspect"
)

// ReadOptions say how to read predictions.
type ReadOptions struct {
	Format Format // empty = see [DetectFormat]
	Name   string // of the file, for errors
	// Model and Prompt stand in where the file does not say.
	Model, Prompt string
	// At, unless nil, is set before each prediction to its line, as in
	// [LineError], so that a reader can say where it stands.
	At *int
}

func (o ReadOptions) at(n int) {
	if o.At != nil {
		*o.At = n
	}
}

// LineError is a line (or a sample of a log) that cannot be read. The reader
// goes on after it.
type LineError struct {
	Name string
	Line int // 1-based; the ordinal of the sample in a log, of the row in a Parquet file
	Err  error
}

func (e *LineError) Error() string {
	name := e.Name
	if name == "" {
		name = "predictions"
	}
	return fmt.Sprintf("%s:%d: %v", name, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// maxLine bounds one line or sample; a longer one is an error, not memory.
const maxLine = 64 << 20

// ReadPredictions reads predictions in any of the formats. A bad line comes as a
// [*LineError] and reading goes on; any other error ends the sequence.
func ReadPredictions(r io.Reader, o ReadOptions) iter.Seq2[schemas.Prediction, error] {
	return func(yield func(schemas.Prediction, error) bool) {
		br := bufio.NewReaderSize(r, 1<<20)
		head, _ := br.Peek(1 << 16)
		if len(bytes.TrimSpace(head)) == 0 {
			yield(schemas.Prediction{}, fmt.Errorf("%s: no predictions in it", cmpName(o.Name)))
			return
		}
		if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
			br.Discard(3) //nolint:errcheck // just peeked
			head = head[3:]
		}
		format := o.Format
		if format == "" {
			var err error
			if format, err = DetectFormat(head); err != nil {
				yield(schemas.Prediction{}, fmt.Errorf("%s: %w", cmpName(o.Name), err))
				return
			}
		}
		switch format {
		case FormatPredictions:
			readPredictionLines(br, o, yield)
		case FormatCompletions:
			readLines(br, o, completionLine, yield)
		case FormatPublished:
			readLines(br, o, publishedLine, yield)
		case FormatLMEval:
			readLines(br, o, lmEvalReader(), yield)
		case FormatInspect:
			if bytes.HasPrefix(head, []byte("PK")) {
				readInspectZip(br, o, yield)
			} else {
				readInspectJSON(br, o, yield)
			}
		default:
			yield(schemas.Prediction{}, fmt.Errorf("unknown format %q of predictions: use predictions, completions, published, lm-eval or inspect", format))
		}
	}
}

func cmpName(name string) string {
	if name == "" {
		return "predictions"
	}
	return name
}

// DetectFormat tells the format by the start of a file.
func DetectFormat(head []byte) (Format, error) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return FormatInspect, nil
	case bytes.HasPrefix(head, []byte("PAR1")):
		return "", errors.New("this is Parquet, not JSON Lines")
	case bytes.HasPrefix(head, []byte("\x1f\x8b")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return "", errors.New("this is compressed: unpack it first")
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "", errors.New("this is UTF-16: save it as UTF-8")
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")):
		return "", errors.New("this is a JSON array: write one object a line")
	}
	line := bytes.TrimSpace(head)
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	has := func(key string) bool { return bytes.Contains(line, []byte(`"`+key+`"`)) }
	switch {
	case len(line) == 0 || line[0] != '{':
		return "", errors.New("neither JSON Lines nor a zip: name the format")
	case has("resps") && has("doc"):
		return FormatLMEval, nil
	case has("eval") && has("status") && has("version"): // a log that stands in one line
		return FormatInspect, nil
	case has("label") || has("outcome"):
		return FormatPredictions, nil
	case has("cont_error"):
		return FormatPublished, nil
	case has("completion") || has("text"):
		return FormatCompletions, nil
	}
	// A log is one object over many lines.
	for _, key := range []string{`"eval"`, `"status"`, `"version"`} {
		if !bytes.Contains(head, []byte(key)) {
			return "", errors.New("unknown fields: name the format")
		}
	}
	return FormatInspect, nil
}

type yieldFunc = func(schemas.Prediction, error) bool

// eachLine calls f for each line that is not blank, until f returns false. It
// returns the error that ended the reading, if one did.
func eachLine(br *bufio.Reader, o ReadOptions, f func(n int, line []byte, err error) bool) error {
	var long []byte
	for n := 1; ; n++ {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = br.ReadSlice('\n')
				if len(long) <= maxLine {
					long = append(long, line...)
				}
			}
			line = long
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		switch {
		case len(line) > maxLine:
			if !f(n, nil, fmt.Errorf("longer than %d MiB", maxLine>>20)) {
				return nil
			}
		case len(bytes.TrimSpace(line)) > 0:
			if !f(n, line, nil) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s, line %d: %w", cmpName(o.Name), n, err)
		}
	}
}

func readPredictionLines(br *bufio.Reader, o ReadOptions, yield yieldFunc) {
	var p, last schemas.Prediction
	fatal := eachLine(br, o, func(n int, line []byte, err error) bool {
		if err == nil {
			err = parsePrediction(line, &p, &last)
		}
		if err == nil {
			err = CheckPrediction(&p)
		}
		if err != nil {
			return yield(schemas.Prediction{}, &LineError{o.Name, n, schemas.JSONFault(err)})
		}
		last = p
		fill(&p, o)
		o.at(n)
		return yield(p, nil)
	})
	if fatal != nil {
		yield(schemas.Prediction{}, fatal)
	}
}

// maxTokens bounds the tokens of one answer.
const maxTokens = 1 << 30

// CheckPrediction refuses a record that contradicts itself: no id, a label that
// is none, an answer without a label, negative counts. Readers of other formats
// than this package's call it for each.
func CheckPrediction(p *schemas.Prediction) error {
	switch {
	case p.ExampleID == "":
		return errors.New("no example_id")
	case p.Label != "" && p.Label != schemas.LabelError && p.Label != schemas.LabelConsistent:
		return fmt.Errorf("label %q of %s is neither %q nor %q", p.Label, p.ExampleID, schemas.LabelError, schemas.LabelConsistent)
	case p.Label == "" && usable(p.Outcome):
		return fmt.Errorf("%s has no label, but its outcome %q says that it was answered", p.ExampleID, p.Outcome)
	case p.Sample < 0:
		return fmt.Errorf("sample %d of %s is negative", p.Sample, p.ExampleID)
	}
	for _, n := range [3]int{p.PromptTokens, p.CompletionTokens, p.ReasoningTokens} {
		if n < 0 || n > maxTokens {
			return fmt.Errorf("%d is no number of tokens, as %s has it", n, p.ExampleID)
		}
	}
	return nil
}

func fill(p *schemas.Prediction, o ReadOptions) {
	if p.Model == "" {
		p.Model = o.Model
	}
	if p.Prompt == "" {
		p.Prompt = o.Prompt
	}
}

// readLines reads a JSON Lines format whose lines give any number of predictions.
func readLines(br *bufio.Reader, o ReadOptions, read func([]byte) ([]schemas.Prediction, error), yield yieldFunc) {
	fatal := eachLine(br, o, func(n int, line []byte, err error) bool {
		var ps []schemas.Prediction
		if err == nil {
			ps, err = read(line)
		}
		for i := range ps {
			err = cmp.Or(err, CheckPrediction(&ps[i]))
		}
		if err != nil {
			return yield(schemas.Prediction{}, &LineError{o.Name, n, schemas.JSONFault(err)})
		}
		o.at(n)
		for i := range ps {
			fill(&ps[i], o)
			if !yield(ps[i], nil) {
				return false
			}
		}
		return true
	})
	if fatal != nil {
		yield(schemas.Prediction{}, fatal)
	}
}

// name is a string that some writers give as a number.
type name string

func (n *name) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*n = name(s)
		return nil
	}
	var num json.Number
	if err := json.Unmarshal(b, &num); err != nil {
		return errors.New("neither a string nor a number")
	}
	*n = name(num)
	return nil
}

func completionLine(line []byte) ([]schemas.Prediction, error) {
	var c struct {
		ExampleID        name    `json:"example_id"`
		Completion       *string `json:"completion"`
		Text             *string `json:"text"`
		Model            string  `json:"model"`
		Prompt           string  `json:"prompt"`
		Sample           int     `json:"sample"`
		TextHash         string  `json:"text_hash"`
		Release          string  `json:"release"`
		Digest           string  `json:"digest"`
		FinishReason     string  `json:"finish_reason"`
		PromptTokens     int     `json:"prompt_tokens"`
		CompletionTokens int     `json:"completion_tokens"`
		ReasoningTokens  int     `json:"reasoning_tokens"`
	}
	if err := schemas.ParseForeign(line, &c); err != nil {
		return nil, err
	}
	if c.ExampleID == "" {
		return nil, errors.New("no example_id")
	}
	if c.Completion == nil {
		c.Completion = c.Text
	}
	if c.Completion == nil {
		return nil, fmt.Errorf("%s has no completion", c.ExampleID)
	}
	p := schemas.Prediction{
		ExampleID: string(c.ExampleID), TextHash: c.TextHash, Release: c.Release, Digest: c.Digest,
		Model: c.Model, Prompt: c.Prompt, Sample: c.Sample, Raw: *c.Completion,
		PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens, ReasoningTokens: c.ReasoningTokens,
	}
	ReadAnswer(p.Raw, c.FinishReason).Fill(&p)
	return []schemas.Prediction{p}, nil
}

func publishedLine(line []byte) ([]schemas.Prediction, error) {
	var c struct {
		ExampleID         name            `json:"example_id"`
		ContError         json.RawMessage `json:"cont_error"`
		Expl              string          `json:"cont_error_expl"`
		ErrorLines        string          `json:"cont_error_lines"`
		ContradictedLines string          `json:"contradicted_lines"`
		Model             string          `json:"model"`
		Prompt            string          `json:"prompt"`
		Sample            int             `json:"sample"`
		TextHash          string          `json:"text_hash"`
		Story             *string         `json:"story"`
	}
	if err := schemas.ParseForeign(line, &c); err != nil {
		return nil, err
	}
	if c.ExampleID == "" {
		return nil, errors.New("no example_id")
	}
	p := schemas.Prediction{
		ExampleID: string(c.ExampleID), TextHash: c.TextHash, Model: c.Model, Prompt: c.Prompt, Sample: c.Sample,
		Outcome: OutcomeOK, ErrorLines: ListItems(c.ErrorLines), ContradictedLines: ListItems(c.ContradictedLines),
		Explanation: c.Expl,
	}
	if p.TextHash == "" && c.Story != nil {
		p.TextHash = schemas.HashText(*c.Story)
	}
	switch v := strings.ToLower(strings.Trim(string(c.ContError), `" `)); v {
	case "1", "1.0", "true", "yes":
		p.Label = schemas.LabelError
	case "0", "0.0", "false", "no":
		p.Label = schemas.LabelConsistent
	case "", "null", "nan", "none", "na":
		p.Outcome = OutcomeParseFailed
	default:
		return nil, fmt.Errorf("cont_error %s of %s is neither 1 nor 0", c.ContError, c.ExampleID)
	}
	return []schemas.Prediction{p}, nil
}

func lmEvalReader() func([]byte) ([]schemas.Prediction, error) {
	filters := map[string]string{} // doc_id to the filter read for it
	return func(line []byte) ([]schemas.Prediction, error) {
		var s struct {
			DocID json.RawMessage `json:"doc_id"`
			Doc   struct {
				ExampleID name    `json:"example_id"`
				TextHash  string  `json:"text_hash"`
				Story     *string `json:"story"`
			} `json:"doc"`
			Resps  json.RawMessage `json:"resps"`
			Filter string          `json:"filter"`
		}
		if err := schemas.ParseForeign(line, &s); err != nil {
			return nil, err
		}
		if s.Doc.ExampleID == "" {
			return nil, errors.New("doc has no example_id: was the task made from this data set?")
		}
		doc := string(s.DocID)
		if first, ok := filters[doc]; ok && first != s.Filter {
			return nil, nil // the same answers under another filter
		}
		filters[doc] = s.Filter
		var resps [][]string
		if err := json.Unmarshal(s.Resps, &resps); err != nil || len(resps) != 1 {
			return nil, fmt.Errorf("resps of %s is not one list of generated texts: only generate_until tasks can be scored", s.Doc.ExampleID)
		}
		hash := s.Doc.TextHash
		if hash == "" && s.Doc.Story != nil {
			hash = schemas.HashText(*s.Doc.Story)
		}
		var out []schemas.Prediction
		for i, text := range resps[0] {
			p := schemas.Prediction{ExampleID: string(s.Doc.ExampleID), TextHash: hash, Sample: i, Raw: text}
			ReadAnswer(text, "").Fill(&p)
			out = append(out, p)
		}
		return out, nil
	}
}

type inspectEval struct {
	Model    string `json:"model"`
	Task     string `json:"task"`
	TaskArgs struct {
		Prompt any `json:"prompt"`
	} `json:"task_args"`
}

type inspectSample struct {
	ID       name `json:"id"`
	Epoch    int  `json:"epoch"`
	Metadata struct {
		ExampleID string `json:"example_id"`
		TextHash  string `json:"text_hash"`
	} `json:"metadata"`
	Output struct {
		Model   string `json:"model"`
		Choices []struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
			StopReason string `json:"stop_reason"`
		} `json:"choices"`
		Completion string `json:"completion"`
		Usage      struct {
			Input     int  `json:"input_tokens"`
			Output    int  `json:"output_tokens"`
			Reasoning *int `json:"reasoning_tokens"`
		} `json:"usage"`
	} `json:"output"`
	Error json.RawMessage `json:"error"`
}

func (s *inspectSample) prediction(ev inspectEval) (schemas.Prediction, error) {
	p := schemas.Prediction{
		ExampleID: string(s.ID), TextHash: s.Metadata.TextHash, Model: ev.Model, Prompt: ev.Task, Sample: max(0, s.Epoch-1),
		Raw: s.Output.Completion, PromptTokens: s.Output.Usage.Input, CompletionTokens: s.Output.Usage.Output,
	}
	if s.Metadata.ExampleID != "" {
		p.ExampleID = s.Metadata.ExampleID
	}
	if p.ExampleID == "" {
		return p, errors.New("sample without id")
	}
	if prompt, ok := ev.TaskArgs.Prompt.(string); ok && prompt != "" {
		p.Prompt = prompt
	}
	if p.Model == "" {
		p.Model = s.Output.Model
	}
	if r := s.Output.Usage.Reasoning; r != nil {
		p.ReasoningTokens = *r
	}
	finish := ""
	if len(s.Output.Choices) > 0 {
		c := s.Output.Choices[0]
		finish = c.StopReason
		if p.Raw == "" {
			p.Raw = contentText(c.Message.Content)
		}
	}
	if len(s.Error) > 0 && string(s.Error) != "null" {
		p.Outcome = "api_error"
		return p, nil
	}
	ReadAnswer(p.Raw, finish).Fill(&p)
	return p, nil
}

// inspectPrediction reads one sample.
func inspectPrediction(raw []byte, ev inspectEval) (p schemas.Prediction, err error) {
	var s inspectSample
	if err = schemas.ParseForeign(raw, &s); err == nil {
		p, err = s.prediction(ev)
	}
	if err == nil {
		err = CheckPrediction(&p)
	}
	return p, err
}

// contentText joins the text parts of a message; reasoning parts are none.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// readInspectJSON streams the samples of a .json log; eval stands before
// them in the format.
func readInspectJSON(r io.Reader, o ReadOptions, yield yieldFunc) {
	fail := func(err error) { yield(schemas.Prediction{}, fmt.Errorf("%s: %w", cmpName(o.Name), err)) }
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		fail(errors.New("not an inspect log: no JSON object"))
		return
	}
	var ev inspectEval
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			fail(err)
			return
		}
		switch key {
		case "eval":
			if err := dec.Decode(&ev); err != nil {
				fail(fmt.Errorf("eval: %w", err))
				return
			}
		case "samples":
			if found {
				fail(errors.New(`key "samples" stands twice`))
				return
			}
			found = true
			if t, err := dec.Token(); err != nil || t != json.Delim('[') {
				fail(errors.New("samples is no list: was the log written without samples?"))
				return
			}
			for n := 1; dec.More(); n++ {
				var raw json.RawMessage
				if err := dec.Decode(&raw); err != nil {
					// Past a syntax error nothing can be read.
					fail(fmt.Errorf("sample %d: %w", n, err))
					return
				}
				p, err := inspectPrediction(raw, ev)
				o.at(n)
				if err != nil {
					p = schemas.Prediction{}
					err = &LineError{o.Name, n, err}
				} else {
					fill(&p, o)
				}
				if !yield(p, err) {
					return
				}
			}
			if _, err := dec.Token(); err != nil {
				fail(fmt.Errorf("the log ends inside samples: %w", err))
				return
			}
		default:
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				fail(fmt.Errorf("%v: %w", key, err))
				return
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		fail(fmt.Errorf("the log ends early: %w", err))
	} else if _, err := dec.Token(); err != io.EOF {
		fail(errors.New("more stands behind the end of the log"))
	} else if !found {
		fail(errors.New("the log holds no samples"))
	}
}

// maxLog bounds a zipped log, packed and each entry unpacked.
const maxLog = 1 << 30

// methodZstd is zip's number for zstd; newer inspect logs use it.
const methodZstd = zstd.ZipMethodWinZip

func readInspectZip(r io.Reader, o ReadOptions, yield yieldFunc) {
	fail := func(err error) { yield(schemas.Prediction{}, fmt.Errorf("%s: %w", cmpName(o.Name), err)) }
	b, err := io.ReadAll(io.LimitReader(r, maxLog+1))
	switch {
	case err != nil:
		fail(err)
		return
	case len(b) > maxLog:
		fail(fmt.Errorf("log of more than %d MiB", maxLog>>20))
		return
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		fail(err)
		return
	}
	z.RegisterDecompressor(methodZstd, zstd.ZipDecompressor())
	unpack := func(f *zip.File) ([]byte, error) {
		rc, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer rc.Close()
		b, err := io.ReadAll(io.LimitReader(rc, maxLine+1))
		if len(b) > maxLine {
			return nil, fmt.Errorf("longer than %d MiB", maxLine>>20)
		}
		return b, err
	}
	// header.json is written when a run ends; until then the journal has eval.
	var header struct {
		Eval inspectEval `json:"eval"`
	}
	var samples []*zip.File
	var start *zip.File
	for _, f := range z.File {
		switch {
		case f.Name == "header.json", f.Name == "_journal/start.json" && start == nil:
			start = f
		case strings.HasPrefix(f.Name, "samples/") && strings.HasSuffix(f.Name, ".json"):
			samples = append(samples, f)
		}
	}
	if start == nil || len(samples) == 0 {
		fail(errors.New("not an inspect log: header.json or samples/ is missing"))
		return
	}
	b, err = unpack(start)
	if err == nil {
		err = schemas.ParseForeign(b, &header)
	}
	if err != nil {
		fail(fmt.Errorf("%s: %w", start.Name, err))
		return
	}
	slices.SortFunc(samples, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for n, f := range samples {
		var p schemas.Prediction
		b, err := unpack(f)
		if err == nil {
			p, err = inspectPrediction(b, header.Eval)
		}
		o.at(n + 1)
		if err != nil {
			err = &LineError{o.Name, n + 1, fmt.Errorf("%s: %w", f.Name, schemas.JSONFault(err))}
			p = schemas.Prediction{}
		} else {
			fill(&p, o)
		}
		if !yield(p, err) {
			return
		}
	}
}
