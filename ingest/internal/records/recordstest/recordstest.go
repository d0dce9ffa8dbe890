// SPDX-License-Identifier: Apache-2.0

// Package recordstest holds what the tests of record corpora share: writing
// small trees, reading a corpus whole, and rules that every record keeps.
package recordstest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Tree writes files, given by slash paths, to a new folder.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Packed are the ways in which files arrive. Each gives the root of the same
// tree.
func Packed(t testing.TB, files map[string]string) map[string]string {
	t.Helper()
	names := slices.Sorted(maps.Keys(files))
	var zipped, tarred bytes.Buffer
	zw, tw := zip.NewWriter(&zipped), tar.NewWriter(&tarred)
	each := map[string]string{}
	for _, n := range names {
		w, err := zw.Create(n)
		check(t, err)
		_, err = io.WriteString(w, files[n])
		check(t, err)
		check(t, tw.WriteHeader(&tar.Header{Name: n, Mode: 0o644, Size: int64(len(files[n]))}))
		_, err = io.WriteString(tw, files[n])
		check(t, err)
		each[n+".gz"] = gz(t, []byte(files[n]))
	}
	check(t, zw.Close())
	check(t, tw.Close())
	zst := map[string]string{}
	for _, n := range names {
		enc, err := zstd.NewWriter(nil)
		check(t, err)
		zst[n+".zst"] = string(enc.EncodeAll([]byte(files[n]), nil))
	}
	root := Tree(t, map[string]string{"all.zip": zipped.String(), "all.tar": tarred.String(), "all.tar.gz": gz(t, tarred.Bytes())})
	return map[string]string{
		"folder":         Tree(t, files),
		"folder of .gz":  Tree(t, each),
		"folder of .zst": Tree(t, zst),
		"zip":            filepath.Join(root, "all.zip"),
		"tar":            filepath.Join(root, "all.tar"),
		"tar.gz":         filepath.Join(root, "all.tar.gz"),
	}
}

func gz(t testing.TB, data []byte) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	check(t, err)
	check(t, w.Close())
	return b.String()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Result is a corpus read whole.
type Result struct {
	ingest.Batch
	ByID map[string]schemas.Story
}

// Reasons counts what was set aside.
func (r Result) Reasons() map[string]int {
	m := map[string]int{}
	for _, d := range r.Dropped {
		m[d.Reason]++
	}
	return m
}

// IDs lists the stories' ids in order.
func (r Result) IDs() []string {
	var ids []string
	for _, s := range r.Stories {
		ids = append(ids, s.StoryID)
	}
	return ids
}

// Summary is one line a story (kind and id) and one a record set aside (reason
// and id), each in order, for tables of tests.
func (r Result) Summary() string {
	var b strings.Builder
	for _, s := range r.Stories {
		fmt.Fprintf(&b, "%s %s\n", s.Kind, s.StoryID)
	}
	for _, d := range r.Dropped {
		fmt.Fprintf(&b, "- %s %s\n", d.Reason, d.ID)
	}
	fmt.Fprintf(&b, "rows %d bad %d\n", r.Rows, r.Bad)
	return b.String()
}

// Read reads a corpus whole, with settings laid over its defaults, and checks
// what holds for every record.
func Read(t testing.TB, c ingest.Corpus, root, settings string) Result {
	t.Helper()
	r, err := TryRead(t, c, root, settings)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TryRead is Read for a corpus that may end in an error.
func TryRead(t testing.TB, c ingest.Corpus, root, settings string) (Result, error) {
	t.Helper()
	ctx := context.Background()
	r := Result{ByID: map[string]schemas.Story{}}
	for it, err := range c.Open(ctx, root, Over(t, c, settings)) {
		if err != nil {
			return r, err
		}
		if it.Name == "" {
			t.Errorf("an item has no name")
		}
		b, err := it.Load(ctx)
		if err != nil {
			return r, err
		}
		// Loading twice gives the same: items hold no state.
		again, err := it.Load(ctx)
		check(t, err)
		if a, b := mustJSON(t, b), mustJSON(t, again); a != b {
			t.Errorf("%s gives something else when it is loaded again:\n%s\n%s", it.Name, a, b)
		}
		r.Stories = append(r.Stories, b.Stories...)
		r.Dropped = append(r.Dropped, b.Dropped...)
		r.Files = append(r.Files, b.Files...)
		r.Rows += b.Rows
		r.Bad += b.Bad
	}
	for _, s := range r.Stories {
		CheckStory(t, c, s)
		r.ByID[s.StoryID] = s
	}
	for _, d := range r.Dropped {
		if d.ID == "" || d.Stage != "ingest" || d.Reason == "" || d.Detail == "" || len(d.Evidence) == 0 || d.Evidence[0].Key != "file" {
			t.Errorf("a record set aside does not say what and why: %+v", d)
		}
	}
	for _, f := range r.Files {
		if f.Path == "" || len(f.SHA256) != 64 {
			t.Errorf("a file without name or hash: %+v", f)
		}
	}
	if r.Bad > r.Rows {
		t.Errorf("%d bad rows of %d", r.Bad, r.Rows)
	}
	return r, nil
}

// CheckStory checks the rules of schemas.Story.
func CheckStory(t testing.TB, c ingest.Corpus, s schemas.Story) {
	t.Helper()
	bad := func(format string, args ...any) { t.Errorf("%s: %s", s.StoryID, fmt.Sprintf(format, args...)) }
	if err := text.CheckFrozen(s.Text); err != nil {
		bad("text is not frozen: %v", err)
	}
	if s.Text == "" || s.Text != text.Trim(s.Text) {
		bad("text is empty or has white space at an end")
	}
	if s.TextHash != schemas.HashText(s.Text) || s.Words != text.Words(s.Text) || s.GroupID != s.StoryID {
		bad("hash, words or group id do not fit the text")
	}
	if s.Kind != schemas.KindStory && s.Kind != schemas.KindQuery {
		bad("kind %q", s.Kind)
	}
	if key, ok := strings.CutPrefix(s.StoryID, c.Name+":"); !ok || key != s.Source.ID {
		bad("the id is not made of corpus and key %q", s.Source.ID)
	}
	if s.Source.Corpus != c.Name || s.Source.Licence == "" || s.Source.LicenceURL == "" || s.Source.Redistribute == "" || s.Source.Attribution == "" ||
		s.Source.File == "" || len(s.Source.RawSHA256) != 64 || s.Source.Charset == "" {
		bad("source is not complete: %+v", s.Source)
	}
	if s.Language != "en" && s.Language != "zh" {
		bad("language %q", s.Language)
	}
	if s.Meta == nil || s.Marks == nil || s.Facts == nil || s.Removed == nil {
		bad("a list is null that should be empty")
	}
	n := len([]rune(s.Text))
	for _, sec := range s.Sections {
		if sec.Start < 0 || sec.End > n || sec.Start >= sec.End {
			bad("section %q is [%d,%d) of %d", sec.ID, sec.Start, sec.End, n)
		}
	}
}

// Over lays settings over the defaults of c, as a recipe does.
func Over(t testing.TB, c ingest.Corpus, settings string) json.RawMessage {
	t.Helper()
	m := map[string]json.RawMessage{}
	check(t, json.Unmarshal(c.Defaults, &m))
	if settings != "" {
		check(t, json.Unmarshal([]byte(settings), &m))
	}
	b, err := json.Marshal(m)
	check(t, err)
	return b
}

func mustJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	check(t, err)
	return string(b)
}

// Meta returns a story's meta field, "" if it has none.
func Meta(s schemas.Story, key string) string {
	for _, kv := range s.Meta {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}
