// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// Files of a workspace beside the folders of its steps.
const (
	recipeFile = "recipe.json"
	lockFile   = "lock"
	saltFile   = "salt"

	// AnswersFile is the store of a model's answers.
	AnswersFile = "answers.db"
)

// Workspace is a folder that holds every step's output. One process works in
// it at a time, and for one resolved recipe.
type Workspace struct {
	dir  string
	lock io.Closer
}

// ErrLocked says that another process works in the workspace.
var ErrLocked = errors.New("another process works in this workspace")

// RecipeError says that a workspace belongs to another recipe, and in which
// keys the two differ.
type RecipeError struct {
	Dir  string
	Keys []string // dotted paths, sorted
}

func (e *RecipeError) Error() string {
	return fmt.Sprintf("workspace %s was made with another recipe; these keys differ: %s (use another --work folder, or the old values)",
		e.Dir, strings.Join(e.Keys, ", "))
}

// Open takes the workspace at dir, creating it when it is not there. Recipe is
// the resolved recipe; a workspace with another one is refused with a
// [*RecipeError]. What a killed run left half-written is removed; finished
// steps and the answer store are never touched.
func Open(dir string, recipe any) (*Workspace, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, diskError("create workspace", dir, err)
	}
	lock, err := acquire(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", dir, err)
	}
	w := &Workspace{dir: dir, lock: lock}
	if err := w.bind(recipe); err != nil {
		lock.Close()
		return nil, err
	}
	if err := w.sweep(); err != nil {
		lock.Close()
		return nil, err
	}
	return w, nil
}

// Within tells whether path lies in the folder of a workspace, wherever that
// is. Path need not be there yet; links are followed.
func Within(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
			break
		}
	}
	for {
		_, recipe := os.Stat(filepath.Join(path, recipeFile))
		_, lock := os.Stat(filepath.Join(path, lockFile))
		if recipe == nil && lock == nil {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// Close gives the workspace back.
func (w *Workspace) Close() error { return w.lock.Close() }

// Dir is the workspace's folder, and Step a step's folder in it.
func (w *Workspace) Dir() string { return w.dir }

// Step returns the folder of a step, such as 10-ingest.
func (w *Workspace) Step(name string) string { return filepath.Join(w.dir, name) }

// Answers is the path of the answer store. No command deletes it.
func (w *Workspace) Answers() string { return filepath.Join(w.dir, AnswersFile) }

// Salt is the path of the secret that hides hidden splits; it never leaves
// the workspace.
func (w *Workspace) Salt() string { return filepath.Join(w.dir, saltFile) }

func (w *Workspace) bind(recipe any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(recipe); err != nil {
		return fmt.Errorf("recipe: %w", err)
	}
	path := filepath.Join(w.dir, recipeFile)
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fetch.WriteFileAtomic(path, 0o644, func(dst io.Writer) error {
			_, err := dst.Write(buf.Bytes())
			return err
		})
	case err != nil:
		return diskError("read", path, err)
	case bytes.Equal(old, buf.Bytes()):
		return nil
	}
	if !json.Valid(old) {
		return &fetch.Error{Op: "read", Name: path, Kind: fetch.Input, Err: errors.New("it is damaged, no JSON; use another --work folder")}
	}
	keys := DifferingKeys(json.RawMessage(old), recipe)
	if len(keys) == 0 { // written by another version, same content
		return nil
	}
	return &RecipeError{Dir: w.dir, Keys: keys}
}

// sweep removes what a killed run left behind: folders and files of the
// workspace that were being written. Nobody else writes here: the lock is held.
func (w *Workspace) sweep() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return diskError("list", w.dir, err)
	}
	for _, e := range entries {
		name := e.Name()
		half := strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") // of fetch.WriteFileAtomic
		if half || strings.HasSuffix(name, newSuffix) || strings.HasSuffix(name, oldSuffix) {
			if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
				return diskError("remove", e.Name(), err)
			}
		}
	}
	return nil
}

// unset reports false, 0, an empty text, list or object, or null.
func unset(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// DifferingKeys compares two values as JSON and names the dotted paths at which
// they differ, sorted. A key that one side lacks and the other leaves unset is no
// difference: a workspace outlives a version that knew fewer keys.
func DifferingKeys(a, b any) []string {
	x, y := plain(a), plain(b)
	keys := map[string]bool{}
	var walk func(path string, x, y any)
	walk = func(path string, x, y any) {
		switch xv := x.(type) {
		case map[string]any:
			if yv, ok := y.(map[string]any); ok {
				for k := range xv {
					if v, both := yv[k]; both || !unset(xv[k]) {
						walk(join(path, k), xv[k], v)
					}
				}
				for k := range yv {
					if _, both := xv[k]; !both && !unset(yv[k]) {
						walk(join(path, k), nil, yv[k])
					}
				}
				return
			}
		case []any:
			if yv, ok := y.([]any); ok && len(xv) == len(yv) {
				for i := range xv {
					walk(fmt.Sprintf("%s[%d]", path, i), xv[i], yv[i])
				}
				return
			}
		}
		ja, _ := json.Marshal(x)
		jb, _ := json.Marshal(y)
		if !bytes.Equal(ja, jb) {
			keys[path] = true
		}
	}
	walk("", x, y)
	return slices.Sorted(maps.Keys(keys))
}

// plain is v as JSON sees it; what cannot be JSON is null.
func plain(v any) (out any) {
	if b, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(b, &out)
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func diskError(op, name string, err error) error {
	return &fetch.Error{Op: op, Name: name, Kind: fetch.Disk, Err: err}
}
