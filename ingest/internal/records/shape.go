// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// Format is what a file's bytes are, whatever its name says.
type Format int

// Formats of files.
const (
	Other      Format = iota // nothing known: a picture, a program, one JSON value
	Empty                    // no byte, or white space only
	JSONLines                // one object a line
	JSONArray                // one array of objects, or an object that holds it
	JSONObject               // one object with several lines
	CSV                      // a table with a header line, commas or tabs
	Parquet                  //
	TextLines                // text
)

// peekSize is how much of a file is looked at: enough for the first fields of
// a first record with a long text in it.
const peekSize = 256 << 10

// Opened is a file that was looked at and stands at its beginning.
type Opened struct {
	File   fetch.File
	Format Format
	Key    string // of a JSONArray inside an object
	Comma  byte   // of a CSV
	// Fields are the names of the first records' fields, where the format has
	// names.
	Fields []string
	// Fits says that the first records have the fields of [Source.Keys].
	Fits bool
	// Head is the beginning of the file.
	Head []byte
	// Upstream is the file's hash where the bytes read are not the upstream's
	// but decrypted ones. Nil: that of the bytes read.
	Upstream *schemas.FileHash

	in  io.ReadCloser
	buf *bufio.Reader
	sum hash.Hash
	n   int64
}

// Read hands the file's bytes out from the start and hashes them.
func (o *Opened) Read(p []byte) (int, error) {
	n, err := o.buf.Read(p)
	o.sum.Write(p[:n])
	o.n += int64(n)
	return n, err
}

// Close closes the file.
func (o *Opened) Close() error { return o.in.Close() }

// Sum is the hash of the bytes read so far, and their number.
func (o *Opened) Sum() (sha string, n int64) { return hex.EncodeToString(o.sum.Sum(nil)), o.n }

// Look opens f and tells its format by its first bytes.
func (s *Source) Look(f fetch.File) (*Opened, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	o := &Opened{File: f, in: in, buf: bufio.NewReaderSize(in, peekSize), sum: sha256.New()}
	head, err := o.buf.Peek(peekSize)
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		// What cannot be read on will fail again, at its place, when the rows
		// before it have been read.
		if len(head) == 0 {
			in.Close()
			return nil, err
		}
	}
	o.Head = head
	o.tell(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), err == io.EOF, s.Keys)
	return o, nil
}

// tell sets what head says of the file; whole means that head is all of it.
func (o *Opened) tell(head []byte, whole bool, keys [][]string) {
	body := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		o.Format = Parquet
		o.Fits = true // the columns are in the footer
		return
	case len(body) == 0:
		o.Format = Other
		if whole {
			o.Format = Empty
		}
		return
	case binary(head):
		o.Format = Other
		return
	case body[0] == '{' && jsonStart(body[1:], `"}`):
		o.object(body, whole, keys)
		return
	case body[0] == '[' && jsonStart(body[1:], `{]`):
		o.Format = JSONArray
		fields, done := firstFields(body[1:])
		o.fit(fields, done, keys)
		return
	}
	if cols, comma := header(body, path.Ext(o.File.Name), keys); cols != nil {
		o.Format, o.Comma, o.Fields, o.Fits = CSV, comma, cols, fits(cols, true, keys)
		return
	}
	o.Format = TextLines
}

func (o *Opened) fit(fields []string, complete bool, keys [][]string) {
	for _, f := range fields {
		if !slices.Contains(o.Fields, f) {
			o.Fields = append(o.Fields, f)
		}
	}
	o.Fits = o.Fits || fits(fields, complete, keys)
}

// fits reports fields that have all of one list of keys. Of an object whose
// end is out of sight any one of them will do.
func fits(fields []string, complete bool, keys [][]string) bool {
	for _, list := range keys {
		n := 0
		for _, k := range list {
			if slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, k) }) {
				n++
			}
		}
		if n == len(list) || !complete && n > 0 {
			return true
		}
	}
	return false
}

// object tells JSON Lines from one object over many lines or around an array.
func (o *Opened) object(body []byte, whole bool, keys [][]string) {
	// Some lines may be broken; those that are not say what the others are.
	lines := bytes.SplitN(body, []byte("\n"), 21)
	objects, seen := 0, 0
	for i, l := range lines {
		last := i == len(lines)-1
		if l = bytes.TrimSpace(l); len(l) == 0 {
			continue
		}
		ok := valid(l)
		if last && !whole && !ok || i == 20 {
			break // cut by the end of head
		}
		seen++
		if l[0] == '{' && ok {
			objects++
			if !json.Valid(l) {
				l = mendNumbers(l)
			}
			fields, _ := firstFields(l)
			o.fit(fields, true, keys)
		}
	}
	first := bytes.TrimSpace(lines[0])
	switch {
	case objects == 1 && seen == 1 && !o.Fits:
		o.Format = JSONLines // unless it holds the records in a member
	case objects > 0 && (valid(first) || objects*2 >= seen):
		o.Format = JSONLines
		return
	case seen > 1 && !oneLine(first):
		o.Format = JSONObject
	case seen == 0:
		// One line longer than head: a row of JSON Lines, or one object.
		o.Format = JSONLines
		fields, done := firstFields(body)
		if o.fit(fields, done, keys); o.Fits {
			return
		}
	default:
		o.Format = JSONLines // of which none can be read
	}
	// An object that holds the records in a member.
	fields, arrays := members(body)
	for _, name := range fields {
		if inner, ok := arrays[name]; ok && fits(inner.fields, inner.done, keys) {
			o.Format, o.Key, o.Fits = JSONArray, name, false
			o.Fields = nil
			o.fit(inner.fields, inner.done, keys)
			return
		}
	}
	if o.Format == JSONObject {
		o.fit(fields, true, keys)
	}
}

// valid is json.Valid for JSON as Python writes it.
func valid(b []byte) bool {
	return json.Valid(b) || (bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Infinity"))) && json.Valid(mendNumbers(b))
}

// oneLine reports a line that looks like a record cut off: it has a whole
// member and does not end like a line of pretty-printed JSON.
func oneLine(l []byte) bool {
	return len(l) > 2 && !bytes.HasSuffix(l, []byte("{")) && !bytes.HasSuffix(l, []byte(",")) && !bytes.HasSuffix(l, []byte("["))
}

type inner struct {
	fields []string
	done   bool
}

// members lists the members of the object at the start of b as far as b goes,
// and the fields of the first object in those that are arrays.
func members(b []byte) (names []string, arrays map[string]inner) {
	arrays = map[string]inner{}
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for len(names) < 1000 {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return
		}
		names = append(names, name)
		rest := bytes.TrimLeft(b[dec.InputOffset():], " \t\r\n:")
		if len(rest) > 0 && rest[0] == '[' && jsonStart(rest[1:], `{`) {
			fields, done := firstFields(rest[1:])
			arrays[name] = inner{fields, done}
		}
		if !skip(dec) {
			return
		}
	}
	return
}

// skip passes over the decoder's next value.
func skip(dec *json.Decoder) bool {
	depth := 0
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return true
		}
	}
}

// firstFields lists the fields of the first object in b; done says that b
// holds its end.
func firstFields(b []byte) (fields []string, done bool) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, len(bytes.TrimLeft(b, " \t\r\n")) > 0
	}
	for {
		t, err := dec.Token()
		if err != nil {
			return fields, false
		}
		name, ok := t.(string)
		if !ok {
			return fields, true
		}
		fields = append(fields, name)
		if !skip(dec) {
			return fields, false
		}
	}
}

// jsonStart reports whether the first byte of b that is no white space is one
// of set: a text may begin with a bracket too ("[ WP ] You wake up").
func jsonStart(b []byte, set string) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && strings.IndexByte(set, b[0]) >= 0
}

// header reads the columns of a table's first line, nil if it is none: a table
// has the extension of one, or columns of the corpus.
func header(body []byte, ext string, keys [][]string) (cols []string, comma byte) {
	line, _, _ := bytes.Cut(body, []byte("\n"))
	if len(line) > 4096 {
		return nil, 0
	}
	ext = strings.ToLower(ext)
	for _, c := range []byte{',', '\t', ';'} {
		parts := strings.Split(strings.TrimRight(string(line), "\r"), string(c))
		for i, p := range parts {
			parts[i] = strings.Trim(p, "\" ")
		}
		if fits(parts, true, keys) && (len(parts) > 1 || ext == ".csv" || ext == ".tsv") {
			return parts, c
		}
		if c == ',' && ext == ".csv" || c == '\t' && ext == ".tsv" {
			cols, comma = parts, c
		}
	}
	return cols, comma
}

// binary reports bytes that no text holds.
func binary(head []byte) bool {
	zeros := bytes.Count(head, []byte{0})
	return zeros > 0 && zeros*1000 > len(head) || bytes.HasPrefix(head, []byte("\x1f\x8b")) || bytes.HasPrefix(head, []byte("%PDF-")) || bytes.HasPrefix(head, []byte("ARROW1"))
}
