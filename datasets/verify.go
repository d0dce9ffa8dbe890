// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
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
}

// OK reports whether nothing was found.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(file string, row int, id, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{File: file, Row: row, ID: id, Reason: fmt.Sprintf(format, args...)})
}

// Verify re-checks a release folder: every byte against SHA256SUMS, files
// against the manifest, schemas, counts and digests, every span of every row,
// that no source stands on two sides of a cut, the canary, and that no trace of
// a name stays that must not be there. It reads on after a problem, so that
// one run names them all. The error is for what could not be looked at at all.
func Verify(ctx context.Context, dir string) (*Report, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	rep := &Report{Problems: []Problem{}}
	damaged, err := verifySums(ctx, dir, rep)
	if err != nil {
		return nil, err
	}
	v := verifier{Release: r, rep: rep, damaged: damaged, side: map[string]string{}, allow: r.Manifest.Recipe.Release.Residue}
	if err := v.manifest(); err != nil {
		return nil, err
	}
	for _, c := range r.Manifest.Configs {
		for _, s := range c.Splits {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v.split(c, s)
		}
	}
	return rep, nil
}

// verifySums checks the bytes of every file and names missing and extra ones.
// It returns the files whose bytes are not what they were.
func verifySums(ctx context.Context, dir string, rep *Report) (map[string]bool, error) {
	want, err := readSums(filepath.Join(dir, SumsFile))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			rep.add(SumsFile, -1, "", "the file is missing")
		} else {
			rep.add(SumsFile, -1, "", "%v", err)
		}
		want = nil
	}
	names, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	damaged := map[string]bool{}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n == SumsFile {
			continue
		}
		h, err := hashFile(dir, n)
		if err != nil {
			return nil, err
		}
		rep.Files++
		rep.Bytes += h.Bytes
		sum, listed := want[n]
		switch {
		case want == nil:
		case !listed:
			rep.add(n, -1, "", "the file is not listed in %s", SumsFile)
		case sum != h.SHA256:
			damaged[n] = true
			rep.add(n, -1, "", "its bytes have SHA-256 %s, %s says %s", h.SHA256, SumsFile, sum)
		}
	}
	for n := range want {
		if !slices.Contains(names, n) {
			rep.add(n, -1, "", "the file is listed in %s but missing", SumsFile)
		}
	}
	slices.SortFunc(rep.Problems, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	return damaged, nil
}

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  (.+)$`)

func readSums(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		m := sumLine.FindStringSubmatch(sc.Text())
		switch {
		case m == nil:
			return nil, fmt.Errorf("line %d is not a SHA-256, two blanks and a name", n)
		case sums[m[2]] != "":
			return nil, fmt.Errorf("line %d: %s stands twice", n, m[2])
		case !fs.ValidPath(m[2]):
			return nil, fmt.Errorf("line %d: %q is not a path inside the release", n, m[2])
		}
		sums[m[2]] = m[1]
	}
	return sums, sc.Err()
}

type verifier struct {
	*Release
	rep     *Report
	damaged map[string]bool
	side    map[string]string // group -> split
	allow   []string
}

// manifest checks what the manifest says against itself and the folder.
func (v *verifier) manifest() error {
	m := v.Manifest
	if m.Format != 1 {
		v.rep.add(ManifestFile, -1, "", "format %d, this version reads 1", m.Format)
	}
	if hash, err := RecipeHash(m.Recipe); err != nil || hash != m.RecipeHash {
		v.rep.add(ManifestFile, -1, "", "recipe_hash is %s but the recipe's is %s", m.RecipeHash, hash)
	}
	if m.Canary == "" || m.Canary != m.Recipe.Canary {
		v.rep.add(ManifestFile, -1, "", "canary %q is empty or not the recipe's", m.Canary)
	}
	listed := map[string]bool{}
	for _, f := range m.Files {
		listed[f.Path] = true
		if !fs.ValidPath(f.Path) {
			v.rep.add(ManifestFile, -1, "", "path %q leaves the release", f.Path)
			continue
		}
		h, err := hashFile(v.Dir, f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.rep.add(f.Path, -1, "", "the file is in the manifest but missing")
		case err != nil:
			return err
		case h.SHA256 != f.SHA256 || h.Bytes != f.Bytes:
			v.damaged[f.Path] = true
			v.rep.add(f.Path, -1, "", "its %d bytes have SHA-256 %s, the manifest says %d and %s", h.Bytes, h.SHA256, f.Bytes, f.SHA256)
		}
	}
	names, err := listFiles(v.Dir)
	if err != nil {
		return err
	}
	inSplits := map[string]bool{}
	for _, c := range m.Configs {
		if !SplitName.MatchString(c.Name) {
			v.rep.add(ManifestFile, -1, "", "config name %q does not load everywhere", c.Name)
		}
		for _, s := range c.Splits {
			if !SplitName.MatchString(s.Name) {
				v.rep.add(ManifestFile, -1, "", "split name %q does not load everywhere", s.Name)
			}
			for _, f := range s.Files {
				inSplits[f.Path] = true
			}
		}
	}
	for _, n := range names {
		if strings.HasSuffix(n, ".parquet") && !(listed[n] && inSplits[n]) {
			v.rep.add(n, -1, "", "a data file that no config names")
		}
	}
	return nil
}

// split checks the files and rows of one split.
func (v *verifier) split(c schemas.ConfigInfo, s schemas.SplitInfo) {
	typ, ok := recordTypes[c.Schema]
	if !ok {
		v.rep.add(ManifestFile, -1, "", "config %s has the unknown schema %q", c.Name, c.Schema)
		return
	}
	l, err := layoutOf(typ)
	if err != nil {
		v.rep.add(ManifestFile, -1, "", "config %s: %v", c.Name, err)
		return
	}
	sum := sha256.New()
	var count exampleCount
	total, last := 0, ""
	complete := true
	for _, f := range s.Files {
		if !fs.ValidPath(f.Path) {
			complete = false
			continue
		}
		row := 0
		for rec, err := range readRecords(filepath.Join(v.Dir, filepath.FromSlash(f.Path)), l, typ) {
			if err != nil {
				complete = false
				var in *fetch.Error
				if errors.As(err, &in) {
					err = in.Err
				}
				v.rep.add(f.Path, row, "", "%v", err)
				break
			}
			digest, err := l.rowDigest(rec)
			if err != nil {
				v.rep.add(f.Path, row, "", "%v", err)
			}
			sum.Write(digest)
			if e, ok := rec.Interface().(schemas.Example); ok {
				v.example(f.Path, row, c.Name, s.Name, e, last)
				last = max(last, e.ExampleID)
				_ = count.add(e) // example has said what is wrong with it
			}
			row++
			total++
			v.rep.Rows++
		}
		if complete && row != f.Rows {
			v.rep.add(f.Path, -1, "", "it holds %d rows, the manifest says %d", row, f.Rows)
		}
	}
	at := c.Name + "/" + s.Name
	if total != s.Rows {
		v.rep.add(ManifestFile, -1, "", "%s has %d rows, the manifest says %d", at, total, s.Rows)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); complete && got != s.Digest {
		v.rep.add(ManifestFile, -1, "", "%s: the rows' digest is %s, the manifest says %s", at, got, s.Digest)
	}
	fresh := schemas.SplitInfo{}
	count.fill(&fresh)
	if complete && (fresh.Positives != s.Positives || fresh.Negatives != s.Negatives || fresh.Groups != s.Groups) {
		v.rep.add(ManifestFile, -1, "", "%s: counted %d positives, %d negatives, %d groups; the manifest says %d, %d, %d",
			at, fresh.Positives, fresh.Negatives, fresh.Groups, s.Positives, s.Negatives, s.Groups)
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
	if old, ok := v.side[e.GroupID]; ok && old != split {
		say("source %s stands in split %s too", e.GroupID, old)
	} else if !ok {
		v.side[e.GroupID] = split
	}
	if !slices.Contains(v.allow, e.ExampleID) {
		if found, at := Residue(e.Story); found != "" {
			say("the story holds %q in line %d, which a release must not (list the id under release.residue to allow it)", found, at)
		}
	}
}
