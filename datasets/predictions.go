// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/scoring"
)

// WritePredictions writes predictions as one Parquet file whose columns are
// those of [schemas.Prediction]. The first error of preds is returned; what was
// written until then is no Parquet file.
func WritePredictions(w io.Writer, preds iter.Seq2[schemas.Prediction, error]) error {
	l, err := layoutOf(reflect.TypeFor[schemas.Prediction]())
	if err != nil {
		return err
	}
	sw := newShardWriter(l, writeOptions{groupRows: predictionGroup}, func(int) (io.WriteCloser, error) { return notClosed{w}, nil })
	defer sw.abort()
	for p, err := range preds {
		if err != nil {
			return err
		}
		if err := sw.add(reflect.ValueOf(p)); err != nil {
			return err
		}
	}
	_, err = sw.finish()
	return err
}

// predictionGroup is the rows of a row group: predictions are small, and are
// read from the first to the last.
const predictionGroup = 50_000

// notClosed is a writer that is its caller's to close.
type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }

// IsParquet reports whether a file begins as Parquet files do.
func IsParquet(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "PAR1"
}

// ReadPredictions reads a Parquet file of predictions, written by
// [WritePredictions] or by anybody: any of the columns of
// [schemas.Prediction], in any order, a column that is not there is empty. A
// file with a column cont_error is read as the published form, one with
// completion or text as raw completions, as [scoring.ReadPredictions] reads
// their lines.
//
// A bad row comes as a [*scoring.LineError] and reading goes on; any other
// error names the file and ends the sequence.
func ReadPredictions(path string, o scoring.ReadOptions) iter.Seq2[schemas.Prediction, error] {
	return func(yield func(schemas.Prediction, error) bool) {
		if o.Name == "" {
			o.Name = path
		}
		fail := func(err error) {
			yield(schemas.Prediction{}, &fetch.Error{Op: "read predictions", Name: o.Name, Kind: fetch.Input, Err: err})
		}
		t, err := openFlat(path)
		if err != nil {
			fail(err)
			return
		}
		defer t.file.Close()
		form := o.Format
		if form == "" {
			if form, err = t.form(); err != nil {
				fail(err)
				return
			}
		}
		switch form {
		case scoring.FormatPredictions:
			err = t.predictions(o, yield)
		case scoring.FormatPublished, scoring.FormatCompletions:
			o.Format = form
			err = t.lines(o, yield)
		default:
			err = fmt.Errorf("a Parquet file holds predictions, completions or published columns, not %s", form)
		}
		if err != nil {
			fail(err)
		}
	}
}

// flatTable is a Parquet file whose columns are scalars and lists of scalars.
type flatTable struct {
	file fetch.ReaderAt
	pf   *parquetfile.File
	cols []flatColumn
}

// flatColumn is one of its columns.
type flatColumn struct {
	name   string
	leaf   int
	kind   parquet.Kind
	list   bool
	listAt int // definition level from which the list is there
	itemAt int // from which it has an element
	max    int // of a value
	nested bool
	scale  int  // digits behind the point of a decimal that is stored as a whole number
	signed bool // of whole numbers
	other  bool // times, and what else is stored as numbers or bytes but is neither number nor text
}

// openFlat opens a file that another program may have written.
func openFlat(path string) (t *flatTable, err error) {
	f, err := fetch.OneFile(path).OpenAt()
	if err != nil {
		return nil, err
	}
	t = &flatTable{file: f}
	if t.pf, err = parquetfile.Open(f, f.Size()); err == nil {
		err = parquetfile.Guard(t.columns)
	}
	if err != nil {
		f.Close()
	}
	return t, err
}

// columns finds out what the columns are. Struct columns stay as one that is
// nested: some formats have none of them, others ignore them.
func (t *flatTable) columns() error {
	schema := t.pf.Schema()
	for _, f := range schema.Fields() {
		c := flatColumn{name: f.Name()}
		path := []string{f.Name()}
		var node parquet.Node = f
		def, reps := 0, 0
		for {
			switch {
			case node.Optional():
				def++
			case node.Repeated():
				if reps++; reps == 1 {
					c.listAt = def
				}
				def++
				c.itemAt = def
			}
			if node.Leaf() {
				break
			}
			inner := node.Fields()
			if len(inner) != 1 {
				c.nested = true
				break
			}
			node = inner[0]
			path = append(path, inner[0].Name())
		}
		c.max, c.list = def, reps == 1
		if c.nested = c.nested || reps > 1 || len(path) > 1 && reps == 0; !c.nested {
			leaf, ok := schema.Lookup(path...)
			if !ok {
				return fmt.Errorf("column %s is not to be found", c.name)
			}
			c.leaf, c.kind = leaf.ColumnIndex, node.Type().Kind()
			c.scale, c.signed, c.other = meaning(node.Type())
		}
		t.cols = append(t.cols, c)
	}
	return nil
}

// meaning is what a column's logical type makes of what is stored.
func meaning(t parquet.Type) (scale int, signed, other bool) {
	logical := t.LogicalType()
	if logical == nil {
		return 0, true, false
	}
	switch l := logical.Value.(type) {
	case nil, *format.StringType, *format.EnumType, *format.JsonType:
		return 0, true, false
	case *format.DecimalType:
		return int(l.Scale), true, t.Kind() == parquet.ByteArray
	case *format.IntType:
		return 0, l.IsSigned, false
	}
	return 0, true, true
}

func (t *flatTable) has(name string) bool {
	return slices.ContainsFunc(t.cols, func(c flatColumn) bool { return c.name == name })
}

// form tells the form of predictions by the columns.
func (t *flatTable) form() (scoring.Format, error) {
	switch {
	case t.has("label"), t.has("outcome"):
		return scoring.FormatPredictions, nil
	case t.has("cont_error"):
		return scoring.FormatPublished, nil
	case t.has("completion"), t.has("text"):
		return scoring.FormatCompletions, nil
	}
	var names []string
	for _, c := range t.cols {
		names = append(names, c.name)
	}
	return "", fmt.Errorf("unknown columns %s: a prediction has example_id and label, a completion example_id and completion, the published form example_id and cont_error", strings.Join(names, ", "))
}

// cursor walks the values of one column of one row group.
type cursor struct {
	flatColumn
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	at, n  int
	done   bool
	same   string // the last text, which often repeats
}

// cursors opens columns of a row group.
func cursors(group parquet.RowGroup, cols []flatColumn) (out []*cursor, err error) {
	err = parquetfile.Guard(func() error {
		chunks := group.ColumnChunks()
		for _, c := range cols {
			if c.leaf >= len(chunks) {
				return fmt.Errorf("no data of column %s", c.name)
			}
			out = append(out, &cursor{flatColumn: c, pages: chunks[c.leaf].Pages(), buf: make([]parquet.Value, 512)})
		}
		return nil
	})
	return out, err
}

func (c *cursor) close() {
	parquetfile.Guard(func() error { c.release(); return c.pages.Close() }) //nolint:errcheck // read only
}

// release gives a page back whose values have all been copied.
func (c *cursor) release() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
}

// fill makes a value available, and reports false at the column's end.
func (c *cursor) fill() (ok bool, err error) {
	if c.at < c.n {
		return true, nil
	}
	err = parquetfile.Guard(func() error { ok, err = c.refill(); return err })
	return ok && err == nil, err
}

func (c *cursor) refill() (ok bool, err error) {
	for !c.done {
		if c.values == nil {
			c.release()
			page, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				c.done = true
				break
			}
			if err != nil {
				return false, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if errors.Is(err, io.EOF) {
			c.values = nil
		}
		if n > 0 {
			c.at, c.n = 0, n
			return true, nil
		}
	}
	return false, nil
}

// scalar is the next row's value of a column that is no list.
func (c *cursor) scalar() (parquet.Value, error) {
	ok, err := c.fill()
	if err != nil {
		return parquet.Value{}, err
	}
	if !ok {
		return parquet.Value{}, fmt.Errorf("column %s ends early", c.name)
	}
	v := c.buf[c.at]
	c.at++
	return v, nil
}

// row calls f with the values of the next row: one for a scalar column, null
// or not; for a list one an element, or none. here tells whether the list is
// there at all.
func (c *cursor) row(f func(parquet.Value) error) (here bool, err error) {
	ok, err := c.fill()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, fmt.Errorf("column %s ends early", c.name)
	}
	first := true
	for {
		v := c.buf[c.at]
		if !first && v.RepetitionLevel() == 0 {
			return here, nil
		}
		c.at++
		switch {
		case !c.list:
			return true, f(v)
		case v.DefinitionLevel() >= c.itemAt:
			here = true
			if err := f(v); err != nil {
				return here, err
			}
		case v.DefinitionLevel() >= c.listAt:
			here = true
		}
		first = false
		if ok, err = c.fill(); err != nil || !ok {
			return here, err
		}
	}
}

// badCell is a value that the row cannot have; other errors are of the file.
type badCell struct{ err error }

func (e *badCell) Error() string { return e.err.Error() }

func bad(format string, args ...any) error { return &badCell{fmt.Errorf(format, args...)} }

func (c *cursor) text(dst *string, shared bool) error {
	v, err := c.scalar()
	if err != nil || v.IsNull() {
		return err
	}
	b := v.ByteArray()
	if shared && string(b) == c.same {
		*dst = c.same
		return nil
	}
	*dst, err = c.string(b)
	if shared {
		c.same = *dst
	}
	return err
}

func (c *cursor) string(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", bad("%s is not UTF-8", c.name)
	}
	return string(b), nil
}

func (c *cursor) texts(dst *[]string) error {
	var list []string
	here, err := c.row(func(v parquet.Value) error {
		if v.IsNull() {
			return bad("%s has a null among its elements", c.name)
		}
		s, err := c.string(v.ByteArray())
		list = append(list, s)
		return err
	})
	if here && list == nil {
		list = []string{}
	}
	*dst = list
	return err
}

func (c *cursor) ints(dst *[]int) error {
	var list []int
	here, err := c.row(func(v parquet.Value) error {
		if v.IsNull() {
			return bad("%s has a null among its elements", c.name)
		}
		n, err := c.whole(v)
		list = append(list, n)
		return err
	})
	if here && list == nil {
		list = []int{}
	}
	*dst = list
	return err
}

func (c *cursor) int(dst *int) error {
	v, err := c.scalar()
	if err == nil && !v.IsNull() {
		*dst, err = c.whole(v)
	}
	return err
}

// whole takes a number that is whole: tools that know no null turn columns of
// integers into floats.
func (c *cursor) whole(v parquet.Value) (int, error) {
	f := c.number(v)
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, bad("%s is %v, not a whole number", c.name, f)
	}
	return int(f), nil
}

func (c *cursor) float(dst **float64) error {
	v, err := c.scalar()
	if err != nil || v.IsNull() {
		return err
	}
	f := c.number(v)
	switch {
	case math.IsNaN(f): // what tools without null write for it
	case math.IsInf(f, 0):
		return bad("%s is %v", c.name, f)
	default:
		*dst = &f
	}
	return nil
}

func (c flatColumn) number(v parquet.Value) float64 {
	var f float64
	switch kind := v.Kind(); {
	case kind == parquet.Int32 && c.signed:
		f = float64(v.Int32())
	case kind == parquet.Int32:
		f = float64(v.Uint32())
	case kind == parquet.Int64 && c.signed:
		f = float64(v.Int64())
	case kind == parquet.Int64:
		f = float64(v.Uint64())
	case kind == parquet.Float:
		f = float64(v.Float())
	default:
		f = v.Double()
	}
	if c.scale > 0 {
		f /= math.Pow10(c.scale)
	}
	return f
}

// exact is a number as JSON has it, with all the digits of a whole one.
func (c flatColumn) exact(v parquet.Value) any {
	if v.Kind() == parquet.Int64 && c.scale == 0 {
		if c.signed {
			return v.Int64()
		}
		return v.Uint64()
	}
	return c.number(v)
}

func (c flatColumn) isText() bool { return !c.nested && !c.other && c.kind == parquet.ByteArray }
func (c flatColumn) isNumber() bool {
	switch c.kind {
	case parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return !c.nested && !c.other
	}
	return false
}

// predictionColumns says how each column is read into a prediction.
var predictionColumns = map[string]struct {
	number, list bool
	read         func(*cursor, *schemas.Prediction) error
}{
	"example_id":             {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.ExampleID, false) }},
	"text_hash":              {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.TextHash, true) }},
	"release":                {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Release, true) }},
	"digest":                 {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Digest, true) }},
	"model":                  {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Model, true) }},
	"prompt":                 {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Prompt, true) }},
	"sample":                 {true, false, func(c *cursor, p *schemas.Prediction) error { return c.int(&p.Sample) }},
	"outcome":                {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Outcome, true) }},
	"label":                  {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Label, true) }},
	"error_lines":            {false, true, func(c *cursor, p *schemas.Prediction) error { return c.texts(&p.ErrorLines) }},
	"contradicted_lines":     {false, true, func(c *cursor, p *schemas.Prediction) error { return c.texts(&p.ContradictedLines) }},
	"error_sentences":        {true, true, func(c *cursor, p *schemas.Prediction) error { return c.ints(&p.ErrorSentences) }},
	"contradicted_sentences": {true, true, func(c *cursor, p *schemas.Prediction) error { return c.ints(&p.ContradictedSentences) }},
	"explanation":            {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Explanation, true) }},
	"confidence":             {true, false, func(c *cursor, p *schemas.Prediction) error { return c.float(&p.Confidence) }},
	"raw":                    {false, false, func(c *cursor, p *schemas.Prediction) error { return c.text(&p.Raw, false) }},
	"prompt_tokens":          {true, false, func(c *cursor, p *schemas.Prediction) error { return c.int(&p.PromptTokens) }},
	"completion_tokens":      {true, false, func(c *cursor, p *schemas.Prediction) error { return c.int(&p.CompletionTokens) }},
	"reasoning_tokens":       {true, false, func(c *cursor, p *schemas.Prediction) error { return c.int(&p.ReasoningTokens) }},
}

// ignored is a column that tools add on their own.
func ignored(name string) bool { return strings.HasPrefix(name, "__index_level_") }

// predictions yields the rows as predictions.
func (t *flatTable) predictions(o scoring.ReadOptions, yield func(schemas.Prediction, error) bool) error {
	var cols []flatColumn
	for _, c := range t.cols {
		want, known := predictionColumns[c.name]
		switch {
		case ignored(c.name):
			continue
		case !known:
			return fmt.Errorf("column %s is none of a prediction's: drop or rename it (and if this is the data set itself, it holds no predictions)", c.name)
		case c.list != want.list || !want.number && !c.isText() || want.number && !c.isNumber():
			// A column without a single value has whatever type its writer thought of.
			if t.allNull(c) {
				continue
			}
			what := "text"
			if want.number {
				what = "numbers"
			}
			if want.list {
				what = "lists of " + what
			}
			return fmt.Errorf("column %s does not hold %s", c.name, what)
		}
		cols = append(cols, c)
	}
	if !t.has("example_id") {
		return errors.New("no column example_id")
	}
	read := make([]func(*cursor, *schemas.Prediction) error, len(cols))
	for i, c := range cols {
		read[i] = predictionColumns[c.name].read
	}
	return t.each(cols, func(n int, cs []*cursor) (bool, error) {
		var p schemas.Prediction
		var wrong error
		for i, c := range cs {
			err := read[i](c, &p)
			if cell := (*badCell)(nil); errors.As(err, &cell) {
				wrong = cmp.Or(wrong, cell.err)
				if err := c.skip(); err != nil {
					return false, err
				}
			} else if err != nil {
				return false, err
			}
		}
		if wrong == nil {
			wrong = scoring.CheckPrediction(&p)
		}
		if wrong != nil {
			return yield(schemas.Prediction{}, &scoring.LineError{Name: o.Name, Line: n, Err: wrong}), nil
		}
		if o.At != nil {
			*o.At = n
		}
		if p.Model == "" {
			p.Model = o.Model
		}
		if p.Prompt == "" {
			p.Prompt = o.Prompt
		}
		return yield(p, nil), nil
	})
}

// skip passes over what is left of a row whose reading stopped.
func (c *cursor) skip() error {
	for c.list {
		ok, err := c.fill()
		if err != nil || !ok {
			return err
		}
		if c.buf[c.at].RepetitionLevel() == 0 {
			return nil
		}
		c.at++
	}
	return nil
}

// each calls f for each row, 1-based over the file, with the columns' cursors
// standing before it.
func (t *flatTable) each(cols []flatColumn, f func(n int, cs []*cursor) (bool, error)) error {
	n := 0
	for _, group := range t.pf.RowGroups() {
		if group.NumRows() == 0 {
			continue
		}
		cs, err := cursors(group, cols)
		for _, c := range cs {
			defer c.close()
		}
		if err != nil {
			return err
		}
		for range group.NumRows() {
			n++
			ok, err := f(n, cs)
			if err != nil {
				return fmt.Errorf("row %d: %w", n, err)
			}
			if !ok {
				return nil
			}
		}
	}
	if n == 0 {
		return errors.New("no predictions in it")
	}
	return nil
}

// allNull reports whether a column has no value at all.
func (t *flatTable) allNull(c flatColumn) bool {
	if t.pf.NumRows() == 0 {
		return true
	}
	if c.nested {
		return false
	}
	null := true
	err := t.each([]flatColumn{c}, func(_ int, cs []*cursor) (bool, error) {
		_, err := cs[0].row(func(v parquet.Value) error { null = null && v.IsNull(); return nil })
		return null, err
	})
	return err == nil && null
}

// lineColumns are those that completions and the published form are read from:
// what such a column holds must not be passed over.
var lineColumns = map[string]bool{
	"example_id": true, "text_hash": true, "release": true, "digest": true, "model": true, "prompt": true, "sample": true,
	"completion": true, "text": true, "finish_reason": true, "prompt_tokens": true, "completion_tokens": true, "reasoning_tokens": true,
	"cont_error": true, "cont_error_expl": true, "cont_error_lines": true, "contradicted_lines": true, "story": true,
}

// lines yields the rows of another format as its JSON lines are read.
func (t *flatTable) lines(o scoring.ReadOptions, yield func(schemas.Prediction, error) bool) error {
	var cols []flatColumn
	for _, c := range t.cols {
		switch {
		case ignored(c.name):
		case !c.list && (c.isText() || c.isNumber() || c.kind == parquet.Boolean && !c.nested):
			cols = append(cols, c)
		case lineColumns[c.name] && !t.allNull(c):
			return fmt.Errorf("column %s holds lists, objects or times: write it as text, a list as its lines", c.name)
		}
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	var wrong sync.Map // row to what JSON has no way to say of it
	go func() {
		defer close(done)
		enc := json.NewEncoder(pw)
		pw.CloseWithError(t.each(cols, func(n int, cs []*cursor) (bool, error) {
			record := make(map[string]any, len(cs))
			for _, c := range cs {
				if _, err := c.row(func(v parquet.Value) error {
					switch {
					case v.IsNull():
					case c.isText():
						text, err := c.string(v.ByteArray())
						if err != nil {
							wrong.LoadOrStore(n, err)
						}
						record[c.name] = text
					case v.Kind() == parquet.Boolean:
						record[c.name] = v.Boolean()
					case !math.IsNaN(c.number(v)):
						record[c.name] = c.exact(v)
					}
					return nil
				}); err != nil {
					return false, err
				}
			}
			if _, bad := wrong.Load(n); bad {
				clear(record) // a line that is a row's, and none of a prediction
			}
			return true, enc.Encode(record)
		}))
	}()
	for p, err := range scoring.ReadPredictions(pr, o) { // a line a row: its errors name the row
		if line := (*scoring.LineError)(nil); errors.As(err, &line) {
			if why, bad := wrong.LoadAndDelete(line.Line); bad {
				line.Err = why.(error)
			}
		}
		if !yield(p, err) {
			break
		}
	}
	pr.Close()
	<-done
	return nil
}
