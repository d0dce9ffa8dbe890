// SPDX-License-Identifier: Apache-2.0

package review

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

// A person answers on the page, item by item; each answer is kept at once, with
// the time it took, and a new server over the same file goes on from there.
func TestServer(t *testing.T) {
	its := items(t)
	path := filepath.Join(t.TempDir(), "review.db")
	open := func() (*Store, *Server, *httptest.Server) {
		store, err := OpenStore(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(its, store, slog.New(slog.DiscardHandler))
		clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		s.now = func() time.Time { clock = clock.Add(10 * time.Second); return clock }
		return store, s, httptest.NewServer(s.Handler())
	}
	store, _, web := open()
	get := func(path string) string {
		t.Helper()
		resp, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Fatalf("%s: %s", path, resp.Status)
		}
		return string(b)
	}
	post := func(form url.Values, head ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, web.URL+"/", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i+1 < len(head); i += 2 {
			req.Header.Set(head[i], head[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if first := get("/"); !strings.Contains(first, `name="annotator"`) {
		t.Error("nobody is asked for a name")
	}
	ask := func(page string) Item {
		for _, it := range its {
			if strings.Contains(page, `value="`+it.ExampleID+`"`) {
				return it
			}
		}
		t.Fatalf("no item on the page:\n%s", page)
		return Item{}
	}
	page := get("/?annotator=ann")
	if strings.Contains(page, "<Hat>") || !strings.Contains(page, "The &lt;Hat&gt;") || !strings.Contains(page, `<mark class="contradicted">=Zoë had a red 👒 hat.</mark>`) {
		t.Errorf("the item is not shown as it is:\n%s", page)
	}
	one := ask(page)
	form := url.Values{"annotator": {"ann"}, "example_id": {one.ExampleID}, "wrong": {"error 3"}, "reason": {" late "}}
	if code, body := post(form); code != http.StatusUnprocessableEntity || !strings.Contains(body, "choose an answer") {
		t.Errorf("no answer chosen: %d", code)
	}
	form.Set("valid", "yes")
	if code, _ := post(form, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", code)
	}
	bad, _ := http.NewRequest(http.MethodGet, web.URL, nil)
	bad.Host = "evil.example"
	if resp, err := http.DefaultClient.Do(bad); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host name: %v %v", resp, err)
	}
	if code, _ := post(url.Values{"annotator": {"ann"}, "example_id": {"rc-none"}, "valid": {"yes"}}); code != http.StatusBadRequest {
		t.Errorf("an unknown item: %d", code)
	}
	if code, body := post(form); code != http.StatusOK || !strings.Contains(body, "1 of 2 done") || ask(body).ExampleID == one.ExampleID {
		t.Errorf("after an answer: %d\n%s", code, body)
	}
	web.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	store, _, web = open()
	defer store.Close()
	defer web.Close()
	two := ask(get("/?annotator=ann"))
	if _, body := post(url.Values{"annotator": {"ann"}, "example_id": {two.ExampleID}, "valid": {"cannot say"}}); !strings.Contains(body, "You have judged all 2 items") {
		t.Errorf("at the end:\n%s", body)
	}
	yes := true
	want := []schemas.Vote{
		{ExampleID: one.ExampleID, TextHash: one.TextHash, Annotator: "ann", Valid: &yes, Reason: "late", Seconds: 10, Time: "2026-01-02T03:04:25Z",
			Sentences: []schemas.SentenceVote{{Set: "contradicted", Sentence: 0, Valid: true}, {Set: "error", Sentence: 2, Valid: true}, {Set: "error", Sentence: 3}}},
		{ExampleID: two.ExampleID, TextHash: two.TextHash, Annotator: "ann", Seconds: 10, Time: "2026-01-02T03:04:25Z"},
	}
	votes, err := store.Votes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, votes); diff != "" {
		t.Error(diff)
	}
	down, _, err := ReadVotes("votes.jsonl", strings.NewReader(get("/votes.jsonl")))
	if err != nil || !cmp.Equal(down, votes) {
		t.Errorf("handed out: %v\n%s", err, cmp.Diff(votes, down))
	}
}
