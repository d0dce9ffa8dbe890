// SPDX-License-Identifier: Apache-2.0

package layering

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module     = "github.com/retcon-bench/retcon"
	sharedTest = "internal/sharedtest" // which every test may ask
)

// rule says what a folder, and what lies below it without a rule of its own,
// may import of ours. "x/..." stands for x and all below it.
type rule struct {
	dir   string
	leans []string
	test  []string // in tests, beside what leans allows
	std   bool     // nothing but the standard library either
}

// The order is that of ARCHITECTURE.md: schemas under everything, cmd on top.
var rules = []rule{
	{dir: "schemas", std: true, test: []string{"internal/text"}},
	{dir: "internal/sharedtest"},
	{dir: "internal/text", test: []string{"internal/text/..."}},
	{dir: "internal/text/texttest", leans: []string{sharedTest}},
	{dir: "internal/fetch"},
	{dir: "internal/parquetfile", leans: []string{"internal/fetch"}},
	{dir: "internal/llm", leans: []string{"internal/llm/..."}},
	{dir: "ingest", leans: []string{"schemas", "internal/text", "internal/fetch", "internal/parquetfile", "ingest/..."}},
	{dir: "transform", leans: []string{"schemas", "internal/llm"}},
	{dir: "transform/dedup", leans: []string{"transform", "schemas", "internal/text"}},
	{dir: "transform/rewrite", leans: []string{"transform", "schemas", "internal/text", "internal/llm"}, test: []string{"internal/llm/...", "ingest/..."}},
	{dir: "transform/flawed", leans: []string{"transform", "transform/flawed/...", "schemas", "internal/text", "internal/llm"}, test: []string{"internal/llm/...", "ingest/..."}},
	{dir: "transform/generate", leans: []string{"transform", "schemas", "internal/text", "internal/llm"}, test: []string{"internal/llm/..."}},
	{dir: "transform/diagnostic", leans: []string{"transform", "transform/flawed/...", "schemas", "internal/text", "internal/llm"}, test: []string{"internal/llm/...", "ingest/..."}},
	{dir: "transform/detect", leans: []string{"transform", "schemas", "scoring", "internal/text", "internal/llm"}, test: []string{"internal/llm/..."}},
	{dir: "transform/check", leans: []string{"transform", "schemas", "internal/text", "internal/llm"}, test: []string{"internal/text/...", "internal/llm/..."}},
	{dir: "scoring", leans: []string{"schemas", "internal/text", "internal/fetch"}, test: []string{"scoring/...", "internal/text/..."}},
	{dir: "internal/report", leans: []string{"schemas"}},
	{dir: "internal/review", leans: []string{"schemas", "datasets", "scoring", "internal/text", "internal/report"}},
	{dir: "splits", leans: []string{"schemas", "scoring", "internal/text"}},
	{dir: "datasets", leans: []string{"schemas", "splits", "scoring", "internal/text", "internal/report", "internal/fetch", "internal/parquetfile"}},
	{dir: "datasets/arrowio", leans: []string{"schemas", "datasets"}, test: []string{"splits"}},
	{dir: "datasets/constoryio", leans: []string{"schemas", "datasets", "scoring"}},
	{dir: "internal/pipeline", leans: []string{"schemas", "internal/fetch"}},
	{dir: "internal/layering"},
	{dir: "cmd", leans: []string{"..."}},
	{dir: "scripts", leans: []string{"..."}},
}

// TestImports parses every Go file in this process: the test cache notices
// files that are read here, which it would not for those a subprocess reads.
func TestImports(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || nested(path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(src), "// SPDX-License-Identifier: Apache-2.0\n") && !generated(src) {
			t.Errorf("%s: first line must be the SPDX licence line", rel)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		r, ok := ruleOf(dir)
		if !ok {
			t.Errorf("%s: folder %s is in no rule of the layering table", rel, dir)
			return nil
		}
		allowed := r.leans
		if strings.HasSuffix(name, "_test.go") {
			allowed = append(slices.Clone(allowed), r.test...)
			allowed = append(allowed, sharedTest, dir) // external tests import their own package
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			ours, isOurs := strings.CutPrefix(p, module+"/")
			switch {
			case isOurs && !slices.ContainsFunc(allowed, func(a string) bool { return matches(a, ours) }):
				t.Errorf("%s imports %s, but %s may lean only on %v", rel, ours, r.dir, allowed)
			case !isOurs && r.std && strings.Contains(strings.Split(p, "/")[0], ".") && !strings.HasSuffix(name, "_test.go"):
				t.Errorf("%s imports %s, but %s takes the standard library only", rel, p, r.dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("only %d Go files found below %s", files, root)
	}
}

func ruleOf(dir string) (rule, bool) {
	best, found := rule{}, false
	for _, r := range rules {
		if (dir == r.dir || strings.HasPrefix(dir, r.dir+"/")) && len(r.dir) >= len(best.dir) {
			best, found = r, true
		}
	}
	return best, found
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// nested reports whether path holds a module of its own.
func nested(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func generated(src []byte) bool {
	first, _, _ := strings.Cut(string(src), "\n")
	return constraint.IsGoBuild(first) || strings.HasPrefix(first, "// Code generated")
}
