// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// marker is what a reader puts after each sentence.
const marker = "|||"

func collect(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs, _ := newFlags("collect", stderr)
	from := fs.String("passages", "", "`folder` that sample wrote")
	marked := fs.String("marked", "", "`folder` with the marked copies, under the same names")
	reader := fs.String("reader", "", "`name` of who marked them; not the name of a person")
	out := fs.String("out", defaultJudged, "judged `file`; rows of other readers in it stay")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *from == "" || *marked == "" || *reader == "" {
		return fmt.Errorf("%w: collect needs -passages, -marked and -reader", errUsage)
	}
	passages, err := readIndex(*from)
	if err != nil {
		return err
	}
	var errs []error
	total := 0
	for i := range passages {
		p := &passages[i]
		b, err := os.ReadFile(filepath.Join(*marked, passageName(i)))
		if err == nil {
			p.Boundaries, err = boundaries(p.text, string(b))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", passageName(i), err))
			continue
		}
		for k := range p.Boundaries {
			p.Boundaries[k] += p.Start
		}
		p.Reader = *reader
		total += len(p.Boundaries)
	}
	if err := errors.Join(errs...); err != nil {
		return err // nothing is written before all of it is right
	}

	kept, err := readJudged(*out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var rows []passage
	for _, p := range kept {
		if p.Reader != *reader {
			rows = append(rows, p)
		}
	}
	rows = append(rows, passages...)
	if err := writeJudged(*out, rows); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d boundaries in %d passages by %s\n", *out, total, len(passages), *reader)
	return nil
}

// boundaries returns the sentence ends of a marked passage as code points from
// its start. Markers may have white space around them, and line ends may have
// been changed, but no other character. The passage's end is always one.
func boundaries(plain, marked string) ([]int, error) {
	if strings.TrimSpace(plain) == "" {
		return nil, errors.New("the passage is empty")
	}
	var ends []int
	rest := []rune(plain)
	at := 0   // code points of plain passed
	last := 0 // where the last of them that is no white space ends
	add := func() {
		if last > 0 && (len(ends) == 0 || ends[len(ends)-1] != last) {
			ends = append(ends, last)
		}
	}
	for len(marked) > 0 {
		if strings.HasPrefix(marked, marker) {
			add()
			marked = marked[len(marker):]
			continue
		}
		r, n := firstRune(marked)
		marked = marked[n:]
		if unicode.IsSpace(r) {
			continue
		}
		for at < len(rest) && unicode.IsSpace(rest[at]) {
			at++
		}
		if at == len(rest) {
			return nil, fmt.Errorf("text after the passage's end: %q", string(r)+head(marked))
		}
		if rest[at] != r {
			return nil, fmt.Errorf("at code point %d the passage has %q, the marked copy %q", at, head(string(rest[at:])), string(r)+head(marked))
		}
		at++
		last = at
	}
	if left := strings.TrimSpace(string(rest[at:])); left != "" {
		return nil, fmt.Errorf("the marked copy lacks the end, from %q", head(left))
	}
	add()
	return ends, nil
}

func firstRune(s string) (rune, int) {
	for _, r := range s {
		return r, len(string(r))
	}
	return 0, 0
}

func head(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 30)])
}

func readJudged(name string) ([]passage, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var rows []passage
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var p passage
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, i+1, err)
		}
		prev := p.Start
		for _, b := range p.Boundaries {
			if b <= prev || b > p.End {
				return nil, fmt.Errorf("%s, line %d: boundary %d is not after %d and at most %d", name, i+1, b, prev, p.End)
			}
			prev = b
		}
		if prev != p.End {
			return nil, fmt.Errorf("%s, line %d: the last boundary is not the passage's end %d", name, i+1, p.End)
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// writeJudged replaces the file as a whole.
func writeJudged(name string, rows []passage) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, p := range rows {
		if err := enc.Encode(p); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, b.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
