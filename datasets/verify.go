// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/internal/parquetfile"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// Problem is one thing that [Verify] found wrong.
type Problem struct {
	File   string `json:"file"` // slash path in the release
	Row    int    `json:"row"`  // 0-based in its file; -1 where it is about the file as a whole
	ID     string `json:"id"`   // the row's example_id, if it could be read
	Reason string `json:"reason"`
}

func (p Problem) String() string {
	switch {
	case p.Row < 0:
		return fmt.Sprintf("%s: %s", p.File, p.Reason)
	case p.ID == "":
		return fmt.Sprintf("%s: row %d: %s", p.File, p.Row, p.Reason)
	}
	return fmt.Sprintf("%s: row %d (%s): %s", p.File, p.Row, p.ID, p.Reason)
}

// Report is what [Verify] looked at and found.
type Report struct {
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Rows     int       `json:"rows"`
	Spans    int       `json:"spans"`
	Problems []Problem `json:"problems"`
	More     int       `json:"more"`  // problems beyond the first maxProblems
	Notes    []string  `json:"notes"` // what could not be checked, and why
}

// maxProblems is how many problems a report lists.
const maxProblems = 10_000

// OK reports whether nothing was found.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(file string, row int, id, format string, args ...any) {
	if len(r.Problems) >= maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{File: file, Row: row, ID: id, Reason: fmt.Sprintf(format, args...)})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Checks are what [VerifyWith] can look at only when it is given more than the
// release.
type Checks struct {
	// HiddenDir holds the hidden rows and Salt their salt: each row must be one
	// that the release committed to, and each commitment must have its row.
	HiddenDir string
	Salt      []byte
	// Against are earlier releases: the manifest's proofs of disjointness from
	// them are computed again.
	Against []string
}

// Verify re-checks a release folder: every byte against SHA256SUMS, files
// against the manifest, schemas, counts and digests, every span of every row,
// that no source stands on two sides of a cut, the canary, that no trace of a
// name stays that must not be there, and that card and sidecars say what
// manifest and rows say. It reads on after a problem, so that one run names
// them all. The error is for what could not be looked at at all.
func Verify(ctx context.Context, dir string) (*Report, error) {
	return VerifyWith(ctx, dir, Checks{})
}

// VerifyWith is [Verify] with more to check by.
func VerifyWith(ctx context.Context, dir string, checks Checks) (*Report, error) {
	raw, err := readCapped(dir, ManifestFile)
	if err != nil {
		return nil, &fetch.Error{Op: "open release", Name: dir, Kind: fetch.Input, Err: err}
	}
	rep := &Report{Problems: []Problem{}, Notes: []string{}}
	files, err := verifySums(ctx, dir, rep)
	if err != nil {
		return nil, err
	}
	v := verifier{Release: &Release{Dir: dir}, rep: rep, files: files,
		side: map[string]place{}, rows: map[string]int{}, seen: map[string]bool{}, summary: newSummary(), complete: true, sides: newSides()}
	if err := json.Unmarshal(raw, &v.Manifest); err != nil {
		rep.add(ManifestFile, -1, "", "it cannot be read, so nothing else was checked but bytes: %v", schemas.JSONFault(err))
		return rep, nil
	}
	v.ours = v.Manifest.Generator == "retcon "+Version
	v.complete = shape(v.Manifest) == nil
	v.manifest(raw)
	for _, c := range v.Manifest.Configs {
		for _, s := range c.Splits {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v.split(c, s)
		}
	}
	v.exceptions()
	v.sideConfigs()
	v.commitments()
	v.card()
	v.sidecars()
	if checks.HiddenDir != "" {
		v.hidden(checks)
	}
	for _, a := range checks.Against {
		if err := v.against(ctx, a); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

type verifier struct {
	*Release
	rep   *Report
	files map[string]schemas.FileHash // what is there, by path
	ours  bool                        // written by this version: bytes can be compared

	side     map[string]place // of each group
	rows     map[string]int   // counted, by config/split
	seen     map[string]bool  // ids
	summary  *summary
	complete bool // all rows could be read

	residue map[string]bool // exceptions that were needed
	sides   sides
}

// place is where a group stands: which side of the cut, and for the message
// where it was seen first.
type place struct{ side, at string }

// problem reports on a file as a whole.
func (v *verifier) problem(file, format string, args ...any) {
	v.rep.add(file, -1, "", format, args...)
}

// maxSidecar caps the files of a release that are read whole.
const maxSidecar = 64 << 20

// readCapped reads a small file of a release.
func readCapped(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSidecar {
		return nil, fmt.Errorf("%s is no regular file, or larger than %d bytes", name, maxSidecar)
	}
	return os.ReadFile(path)
}

// manifest checks what the manifest says against itself and the folder.
func (v *verifier) manifest(raw []byte) {
	m := v.Manifest
	say := func(format string, args ...any) { v.problem(ManifestFile, format, args...) }
	if m.Format != 1 {
		say("format %d, this version reads 1", m.Format)
	}
	if v.ours {
		var again bytes.Buffer
		if err := encodeManifest(&again, m); err != nil || !bytes.Equal(again.Bytes(), raw) {
			say("it is not in its one form: %s", firstDifference(again.String(), string(raw)))
		}
	}
	if err := CheckManifest(m); err != nil {
		say("%v", err)
	}
	var files []schemas.FileHash
	inConfig := map[string]string{}
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			rows, size := 0, int64(0)
			for _, f := range s.Files {
				if at, ok := inConfig[f.Path]; ok {
					say("%s stands in %s and in %s/%s", f.Path, at, c.Name, s.Name)
				}
				inConfig[f.Path] = c.Name + "/" + s.Name
				rows, size = rows+f.Rows, size+f.Bytes
			}
			if rows != s.Rows || size != s.Bytes {
				say("%s/%s: %d rows in %d bytes, but its files have %d in %d", c.Name, s.Name, s.Rows, s.Bytes, rows, size)
			}
			files = append(files, s.Files...)
		}
	}
	if !slices.Equal(files, m.Files) {
		say("its list of files is not that of its configs")
	}
	for _, f := range files {
		if !fs.ValidPath(f.Path) {
			say("path %q leaves the release", f.Path)
			continue
		}
		h, ok := v.files[f.Path]
		switch {
		case !ok:
			v.problem(f.Path, "the file is in the manifest but missing")
		case h.SHA256 != f.SHA256 || h.Bytes != f.Bytes:
			v.problem(f.Path, "its %d bytes have SHA-256 %s, the manifest says %d and %s%s", h.Bytes, h.SHA256, f.Bytes, f.SHA256, swapped(h.SHA256, files))
		}
	}
	for _, n := range sortedPaths(v.files) {
		switch {
		case inConfig[n] != "" || n == ManifestFile || n == SumsFile || n == gitAttributes || v.isSidecar(n):
		case strings.HasSuffix(n, ".parquet"):
			v.problem(n, "a data file that no config names")
		default:
			v.problem(n, "the file is no part of a release")
		}
	}
}

// swapped names the file whose bytes these are.
func swapped(sha string, files []schemas.FileHash) string {
	for _, f := range files {
		if f.SHA256 == sha {
			return "; they are those of " + f.Path
		}
	}
	return ""
}

// split checks the files and rows of one split.
func (v *verifier) split(c schemas.ConfigInfo, s schemas.SplitInfo) {
	l, err := layoutOfSchema(c.Schema)
	if err != nil {
		v.problem(ManifestFile, "config %s: %v", c.Name, err)
		v.complete = false
		return
	}
	typ := recordTypes[c.Schema]
	sum := sha256.New()
	var count exampleCount
	total, last, lastPrompt := 0, "", -1
	complete := true
	again := v.again(l)
	for _, f := range s.Files {
		if _, ok := v.files[f.Path]; !ok || !fs.ValidPath(f.Path) {
			complete = false
			continue
		}
		path := filepath.Join(v.Dir, filepath.FromSlash(f.Path))
		v.shard(path, f.Path, l)
		row := 0
		for rec, err := range readRecords(path, l, typ) {
			if err != nil {
				complete = false
				at, bad := row, new(damage)
				if errors.As(err, &bad) {
					at = bad.row
				}
				var in *fetch.Error
				if errors.As(err, &in) {
					err = in.Err
				}
				v.rep.add(f.Path, at, "", "%v", err)
				break
			}
			digest, err := l.rowDigest(rec)
			if err != nil {
				v.rep.add(f.Path, row, "", "%v", err)
			}
			sum.Write(digest)
			again.add(rec)
			if e, ok := rec.Interface().(schemas.Example); ok {
				v.example(f.Path, row, c.Name, s.Name, e, last)
				last = max(last, e.ExampleID)
				_ = count.add(e) // example has said what is wrong with it
				v.summary.add(c.Name, s.Name, e)
				v.sides.example(c.Name, s.Name, e)
			}
			if r, ok := sideOf(rec.Interface()); ok {
				if err := r.check(v.Manifest, last); err != nil {
					v.rep.add(f.Path, row, r.id, "%v", err)
				}
				last = max(last, r.id)
				v.sides.add(c.Name, rec.Interface())
			}
			if p, ok := rec.Interface().(schemas.Prompt); ok {
				v.prompt(f.Path, row, c.Name, s.Name, p, lastPrompt)
				lastPrompt = max(lastPrompt, p.ID)
				_ = count.addPrompt(p)
				v.summary.addPrompt(c.Name, s.Name, p)
			}
			row++
			total++
			v.rep.Rows++
		}
		if complete && row != f.Rows {
			v.problem(f.Path, "it holds %d rows, the manifest says %d", row, f.Rows)
		}
	}
	at := c.Name + "/" + s.Name
	v.rows[at] = total
	v.complete = v.complete && complete
	if !complete {
		return
	}
	again.compare(v, s)
	if total != s.Rows {
		v.problem(ManifestFile, "%s has %d rows, the manifest says %d", at, total, s.Rows)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != s.Digest {
		v.problem(ManifestFile, "%s: the rows' digest is %s, the manifest says %s", at, got, s.Digest)
	}
	fresh := schemas.SplitInfo{}
	count.fill(&fresh)
	if fresh.Positives != s.Positives || fresh.Negatives != s.Negatives || fresh.Groups != s.Groups {
		v.problem(ManifestFile, "%s: counted %d positives, %d negatives, %d groups; the manifest says %d, %d, %d",
			at, fresh.Positives, fresh.Negatives, fresh.Groups, s.Positives, s.Negatives, s.Groups)
	}
	if !reflect.DeepEqual(fresh.Words, s.Words) {
		v.problem(ManifestFile, "%s: lengths are %+v, the manifest says %+v", at, fresh.Words, s.Words)
	}
}

// rewriter writes the rows that were read once more and hashes the bytes.
type rewriter struct {
	w    *shardWriter
	sums []hash.Hash
	err  error
}

type hashSink struct{ hash.Hash }

func (hashSink) Close() error { return nil }

// again makes a rewriter, or nil where the release was not written by this very
// version on this kind of machine: then bytes may differ for good reasons.
func (v *verifier) again(l *layout) *rewriter {
	if !v.ours || v.Manifest.Compressor != compressor() {
		return nil
	}
	meta, err := footerKeys(l, v.Manifest)
	if err != nil {
		return nil
	}
	r := &rewriter{}
	r.w = newShardWriter(l, writeOptionsOf(v.Manifest, meta), func(int) (io.WriteCloser, error) {
		h := sha256.New()
		r.sums = append(r.sums, h)
		return hashSink{h}, nil
	})
	return r
}

func (r *rewriter) add(v reflect.Value) {
	if r != nil && r.err == nil {
		r.err = r.w.add(v)
	}
}

// compare finds what the rows do not show: statistics by which readers skip
// row groups, the page index, padding.
func (r *rewriter) compare(v *verifier, s schemas.SplitInfo) {
	if r == nil {
		return
	}
	if r.err == nil {
		_, r.err = r.w.finish()
	}
	if r.err != nil {
		v.problem(ManifestFile, "split %s: its rows cannot be written again: %v", s.Name, r.err)
		return
	}
	for i, f := range s.Files {
		if h := v.files[f.Path]; i >= len(r.sums) || hex.EncodeToString(r.sums[i].Sum(nil)) != h.SHA256 {
			v.problem(f.Path, "its rows, written again by this very version, give other bytes: something beside them was changed (statistics, page headers, page index)")
		}
	}
}

// shard checks what a shard's footer says of it.
func (v *verifier) shard(path, name string, l *layout) {
	f, err := os.Open(path)
	if err != nil {
		return // readRecords will say so
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	meta, _, err := parquetfile.Footer(f, info.Size())
	if err != nil {
		return
	}
	var got [][2]string
	for _, kv := range meta.KeyValueMetadata {
		got = append(got, [2]string{kv.Key, kv.Value})
	}
	want, err := footerKeys(l, v.Manifest)
	switch {
	case err != nil:
		v.problem(name, "%v", err)
	case len(got) != len(want):
		v.problem(name, "its footer has %d keys, a release's has %d", len(got), len(want))
	default:
		for i, kv := range want {
			if got[i] != kv {
				v.problem(name, "footer key %s is %q, not %q", kv[0], clip(got[i][0]+"="+got[i][1]), clip(kv[1]))
			}
		}
	}
	for i, g := range meta.RowGroups {
		if g.NumRows > groupRows || g.TotalByteSize > groupBytes {
			v.problem(name, "row group %d has %d rows in %d bytes; at most %d and %d load everywhere", i, g.NumRows, g.TotalByteSize, groupRows, groupBytes)
		}
	}
}

// example checks one row on its own and against what was read before.
func (v *verifier) example(file string, row int, config, split string, e schemas.Example, last string) {
	say := func(format string, args ...any) { v.rep.add(file, row, e.ExampleID, format, args...) }
	if err := CheckExample(e); err != nil {
		say("%v", err)
	}
	v.rep.Spans += len(e.ErrorSpans) + len(e.ContradictedSpans) + len(e.Edits)
	if e.ExampleID <= last {
		say("does not follow %s: rows stand in order of their ids, each once", last)
	}
	if e.Split != split {
		say("says split %q but stands in %s", e.Split, split)
	}
	if e.Canary != v.Manifest.Canary {
		say("has another canary")
	}
	if e.DatasetVersion != v.Manifest.Version {
		say("says dataset_version %q", e.DatasetVersion)
	}
	if strings.Contains(e.Story, v.Manifest.Canary) && v.Manifest.Canary != "" {
		say("the canary stands in the story's text")
	}
	if !slices.ContainsFunc(v.Manifest.Corpora, func(c schemas.CorpusUse) bool { return c.Name == e.Source.Corpus }) {
		say("is from corpus %q, which the manifest does not name", e.Source.Corpus)
	}
	v.seen[e.ExampleID] = true
	now := place{side(config, split), config + "/" + split}
	if old, ok := v.side[e.GroupID]; ok && old.side != now.side {
		say("source %s stands in %s too: no source may stand on two sides of a cut", e.GroupID, old.at)
	} else if !ok {
		v.side[e.GroupID] = now
	}
	if found, column, at := ResidueOf(e); found != "" {
		if slices.Contains(v.Manifest.Recipe.Release.Residue, e.ExampleID) {
			if v.residue == nil {
				v.residue = map[string]bool{}
			}
			v.residue[e.ExampleID] = true
		} else {
			say("the %s holds %q in line %d, which a release must not (list the id under release.residue to allow it)", column, found, at)
		}
	}
}

// side says on which side of the cuts the rows of a split stand. Sources of
// the few-shot pool are scored nowhere, whatever their split is called.
func side(config, split string) string {
	if config == splits.FewShot {
		return "the few-shot pool"
	}
	return split
}

// exceptions looks for listed exceptions that nothing needs.
func (v *verifier) exceptions() {
	for _, id := range v.Manifest.Recipe.Release.Residue {
		switch {
		case v.residue[id]:
		case v.seen[id]:
			v.rep.note("release.residue lists %s, whose text holds nothing that needs it", id)
		default:
			v.rep.note("release.residue lists %s, which is no row here", id)
		}
	}
}

// commitments checks the list of hidden rows on its own.
func (v *verifier) commitments() {
	h := v.Manifest.Hidden
	if !slices.IsSortedFunc(h, compareCommitments) {
		v.problem(ManifestFile, "hidden rows are not in order of config and id")
	}
	for i, c := range h {
		b, err := hex.DecodeString(c.SHA256)
		switch {
		case err != nil || len(b) != sha256.Size || strings.ToLower(c.SHA256) != c.SHA256:
			v.problem(ManifestFile, "hidden row %s of %s: %q is no SHA-256", c.ExampleID, c.Config, c.SHA256)
		case i > 0 && h[i-1].Config == c.Config && h[i-1].ExampleID == c.ExampleID:
			v.problem(ManifestFile, "hidden row %s of %s stands twice", c.ExampleID, c.Config)
		case v.seen[c.ExampleID]:
			v.problem(ManifestFile, "hidden row %s of %s is released", c.ExampleID, c.Config)
		}
	}
}

func sortedPaths(files map[string]schemas.FileHash) []string {
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
