// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bufio"
	"bytes"
	"context"
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

// gitAttributes is the one file a hub puts beside a release.
const gitAttributes = ".gitattributes"

// verifySums checks the bytes of every file and names missing, extra and
// swapped ones. It returns the files that are there.
func verifySums(ctx context.Context, dir string, rep *Report) (map[string]schemas.FileHash, error) {
	raw, err := readCapped(dir, SumsFile)
	var want map[string]string
	if err == nil {
		want, err = readSums(raw)
	}
	if errors.Is(err, fs.ErrNotExist) {
		rep.add(SumsFile, -1, "", "the file is missing")
	} else if err != nil {
		rep.add(SumsFile, -1, "", "%v", err)
	}
	names, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	files := map[string]schemas.FileHash{}
	var found []Problem
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// A device or a pipe would never end; a link to a file is how hubs
		// keep a copy.
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(n))); err != nil || !info.Mode().IsRegular() {
			found = append(found, Problem{n, -1, "", "it is no regular file"})
			continue
		}
		h, err := HashFile(dir, n)
		if err != nil {
			return nil, err
		}
		files[n] = h
		if n == SumsFile {
			continue
		}
		rep.Files++
		rep.Bytes += h.Bytes
		sum, listed := want[n]
		switch {
		case want == nil || n == gitAttributes && !listed:
		case !listed:
			found = append(found, Problem{n, -1, "", "the file is not listed in " + SumsFile})
		case sum != h.SHA256:
			reason := fmt.Sprintf("its bytes have SHA-256 %s, %s says %s", h.SHA256, SumsFile, sum)
			for _, other := range sortedKeys(want) {
				if want[other] == h.SHA256 {
					reason += "; they are those of " + other
				}
			}
			found = append(found, Problem{n, -1, "", reason})
		}
	}
	for _, n := range sortedKeys(want) {
		if _, ok := files[n]; !ok {
			found = append(found, Problem{n, -1, "", "the file is listed in " + SumsFile + " but missing"})
		}
	}
	slices.SortStableFunc(found, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	for _, p := range found {
		rep.add(p.File, p.Row, p.ID, "%s", p.Reason)
	}
	return files, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  (.+)$`)

// readSums reads what [writeSums] or sha256sum wrote: sorted lines, the last
// one ended.
func readSums(raw []byte) (map[string]string, error) {
	sums := map[string]string{}
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		return nil, errors.New("the last line is not ended")
	}
	sc := bufio.NewScanner(bytes.NewReader(raw))
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

// listFiles returns the slash paths of all files below dir, sorted byte-wise,
// without what git and hub clients keep for themselves.
func listFiles(dir string) ([]string, error) {
	var names []string
	// The folder itself may be a link, as "latest" often is; a walk would not
	// follow it and see one strange file.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, &fetch.Error{Op: "list", Name: dir, Kind: fetch.Input, Err: err}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == ".git" || rel == ".cache" {
				return filepath.SkipDir
			}
			return nil
		}
		names = append(names, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		return nil, &fetch.Error{Op: "list", Name: dir, Kind: fetch.Input, Err: err}
	}
	slices.Sort(names)
	return names, nil
}
