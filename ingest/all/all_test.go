// SPDX-License-Identifier: Apache-2.0

package all

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// TestCorpora: every corpus says all that retcon corpora prints, and its
// defaults are settings that it accepts.
func TestCorpora(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Corpora {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Title == "" || c.Doc == "" || c.Version == "" || c.Where == "" || len(c.Formats) == 0 || c.Open == nil ||
			c.Terms.Licence == "" || c.Terms.LicenceURL == "" || c.Terms.Note == "" {
			t.Errorf("%s is not complete", c.Name)
		}
		switch c.Tested {
		case ingest.TestedReal, ingest.TestedAltered, ingest.TestedGenerated:
		default:
			t.Errorf("%s was tested on %q", c.Name, c.Tested)
		}
		switch c.Terms.Redistribute {
		case schemas.RedistributeText, schemas.RedistributeDerived, schemas.RedistributeIDs:
		default:
			t.Errorf("%s may be released as %q", c.Name, c.Terms.Redistribute)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(c.Defaults, &keys); err != nil || len(keys) == 0 {
			t.Errorf("%s has no defaults: %v", c.Name, err)
		}
		for k, v := range keys {
			if string(v) == "null" {
				t.Errorf("%s: the default of %s is null", c.Name, k)
			}
		}
		if c.Embedded {
			continue
		}
		// An unknown key is an error that names the corpus; the defaults are
		// none: the missing folder is.
		root := filepath.Join(t.TempDir(), "none")
		for settings, want := range map[string]string{`{"no_such_key":1}`: "no_such_key", string(c.Defaults): "--corpus " + c.Name} {
			n := 0
			for _, err := range c.Open(t.Context(), root, json.RawMessage(settings)) {
				n++
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s with %s: %v", c.Name, settings, err)
				}
				break
			}
			if n == 0 {
				t.Errorf("%s with %s: no error", c.Name, settings)
			}
		}
	}
	if len(Corpora) < 10 {
		t.Errorf("only %d corpora", len(Corpora))
	}
}

func TestDownloads(t *testing.T) {
	for name := range downloads {
		files, err := Downloads(name)
		if err != nil {
			t.Error(err)
		}
		for _, f := range files {
			u, err := url.Parse(f.URL)
			if err != nil || u.Scheme != "https" || path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "..") {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	for name, want := range map[string]string{"longlamp": "get it from: https://huggingface.co", "nothing": "known: tales"} {
		if _, err := Downloads(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFetchAndRead downloads generated rows from a server here and reads them.
func TestFetchAndRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rows.jsonl" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(`{"prompt":"Write a tale.","type":"Literature and Creative Writing","length":500}`+"\n"))
	}))
	defer server.Close()
	client := &fetch.Client{AllowPrivate: true, Every: -1, MaxTries: 1}
	defer client.Close()
	dir := t.TempDir()
	var got []string
	err := Fetch(t.Context(), client, []Download{{server.URL + "/rows.jsonl", "a/rows.jsonl"}}, dir, func(d Download, r fetch.Result) { got = append(got, d.Path) })
	if err != nil || strings.Join(got, " ") != "a/rows.jsonl" {
		t.Fatal(got, err)
	}
	c, _ := Find("longbench_write")
	stories := 0
	for it, err := range c.Open(t.Context(), dir, c.Defaults) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := it.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stories += len(b.Stories)
	}
	if stories != 1 {
		t.Errorf("%d queries", stories)
	}
	if err := Fetch(t.Context(), client, []Download{{server.URL + "/gone", "gone"}}, dir, nil); err == nil || !strings.Contains(err.Error(), "download gone") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
		t.Error("half a file is left")
	}
}
