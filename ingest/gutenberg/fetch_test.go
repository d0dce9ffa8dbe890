// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// mirror serves files and counts what was asked for.
func mirror(t *testing.T, files map[string]string) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var log []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		log = append(log, r.URL.Path)
		mu.Unlock()
		s, ok := files[strings.TrimPrefix(r.URL.Path, "/m/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("\"%d\"", len(s)))
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, s)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/m/", func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := log
		log = nil
		return out
	}
}

func client() *fetch.Client {
	return &fetch.Client{UserAgent: "retcon-test", Every: -1, AllowPrivate: true, MaxTries: 1}
}

func TestFetch(t *testing.T) {
	url, asked := mirror(t, map[string]string{
		"files/503/503-8.txt":             book("503", "Lamp", "From -8."),
		"files/503/503.txt":               book("503", "Lamp", "From ascii."),
		"cache/epub/2591/pg2591.txt":      book("2591", "Key", "From pg."),
		"cache/epub/2591/pg2591.rdf":      rdfText,
		"7/6/765/765-h/765-h.htm":         strings.Replace(htmlBook("<p>From html.</p>"), "4321", "765", 1),
		"cache/epub/feeds/pg_catalog.csv": catalogHead + "503,Text,x,Lamp,en,,Fairy tales,PZ,\n504,Text,x,Play,en,,Drama,PR,\n765,Text,x,Old,en,,Fables,GR,\n",
	})
	dir := t.TempDir()
	ctx := context.Background()
	got, err := Fetch(ctx, client(), dir, FetchOptions{Mirror: url, IDs: []string{"503", "2591", "765", "9"}, RDF: true, Settings: DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range got {
		paths = append(paths, f.Path)
		if f.Path == "" {
			if f.ID != "9" || !f.Missing {
				t.Errorf("%+v", f)
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil || int64(len(data)) != f.Size {
			t.Errorf("%+v: %v", f, err)
		}
	}
	want := []string{"files/503/503-8.txt", "cache/epub/2591/pg2591.txt", "cache/epub/2591/pg2591.rdf", "files/765/765-h/765-h.htm", ""}
	if !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
	if a := asked(); slices.Contains(a, "/m/files/503/503.txt") {
		t.Errorf("asked for more than one encoding: %q", a)
	}
	// The folder is one the corpus reads.
	ids, _, _, _ := load(t, dir, func(s *Settings) { s.Filter = false })
	if want := []string{"gutenberg:503", "gutenberg:765", "gutenberg:2591"}; !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
	// A second run asks about what is there, once each.
	got, err = Fetch(ctx, client(), dir, FetchOptions{Mirror: url, IDs: []string{"503", "2591"}})
	if err != nil || !got[0].NotModified || !got[1].NotModified {
		t.Errorf("%+v %v", got, err)
	}
	if a := asked(); !slices.Equal(a, []string{"/m/files/503/503-8.txt", "/m/cache/epub/2591/pg2591.txt"}) {
		t.Errorf("%q", a)
	}
	// Without ids, the catalogue chooses.
	var progress []string
	dir = t.TempDir()
	_, err = Fetch(ctx, client(), dir, FetchOptions{Mirror: url, Settings: DefaultSettings(), Layout: "digits", Progress: func(f Fetched) { progress = append(progress, f.ID+"="+f.Path) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"=cache/epub/feeds/pg_catalog.csv", "503=", "765=files/765/765-h/765-h.htm"}; !slices.Equal(progress, want) {
		t.Errorf("%q", progress)
	}
}

func TestFetchRefusals(t *testing.T) {
	url, _ := mirror(t, map[string]string{"files/503/503-0.txt": book("503", "Lamp", "x")})
	ctx := context.Background()
	for name, opt := range map[string]FetchOptions{
		"no mirror":    {IDs: []string{"503"}},
		"no number":    {Mirror: url, IDs: []string{"../../etc"}},
		"zero":         {Mirror: url, IDs: []string{"0503"}},
		"layout":       {Mirror: url, IDs: []string{"503"}, Layout: "flat"},
		"no catalogue": {Mirror: url, Settings: DefaultSettings()},
		"checksum":     {Mirror: url, IDs: []string{"503"}, SHA256: map[string]string{"files/503/503-0.txt": strings.Repeat("0", 64)}},
	} {
		dir := t.TempDir()
		if _, err := Fetch(ctx, client(), dir, opt); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "files", "503", "503-0.txt")); err == nil {
			t.Errorf("%s: a file was left", name)
		}
	}
	c := client()
	c.AllowPrivate = false
	if _, err := Fetch(ctx, c, t.TempDir(), FetchOptions{Mirror: url, IDs: []string{"503"}}); fetch.KindOf(err) != fetch.Input {
		t.Errorf("a private address: %v", err)
	}
}
