// SPDX-License-Identifier: Apache-2.0

package review

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retcon-bench/retcon/schemas"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"mark": func(s Sentence) string { return s.mark() },
	"line": oneLine,
}).Parse(pageSource))

// Server asks the items on a page of its own. It is for one machine: it answers
// requests to a loopback name only and takes no form from another site. Who
// sits there types a name; each annotator gets the items in an order of their
// own, one at a time. The time between showing an item and the answer is
// measured here.
type Server struct {
	items []Item
	store *Store
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	shown map[[2]string]time.Time // by annotator and item
}

// NewServer returns a server of items whose answers go to store.
func NewServer(items []Item, store *Store, log *slog.Logger) *Server {
	return &Server{items: items, store: store, log: log, now: time.Now, shown: map[[2]string]time.Time{}}
}

// maxForm is the size of a form in bytes.
const maxForm = 64 << 10

// Handler serves the page: GET / asks for the name or shows the next item, POST
// / takes an answer, GET /votes.jsonl hands all votes out.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.show)
	mux.HandleFunc("POST /{$}", s.answer)
	mux.HandleFunc("GET /votes.jsonl", s.votes)
	forms := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) { // a name that some other site made point here
			http.Error(w, "this page answers to localhost only", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		forms.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// view is what the page shows.
type view struct {
	Annotator   string
	Item        *Item
	Parts       []part
	Done, Total int
	Problem     string
}

// next returns the first item that an annotator has not judged, in the order
// that is theirs.
func (s *Server) next(r *http.Request, annotator string) (*Item, int, error) {
	done, err := s.store.voted(r.Context(), annotator)
	if err != nil {
		return nil, 0, err
	}
	order := make([]int, len(s.items))
	keys := make([][32]byte, len(s.items))
	for i, it := range s.items {
		order[i], keys[i] = i, sha256.Sum256([]byte(annotator+"\x00"+it.ExampleID))
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(string(keys[a][:]), string(keys[b][:])) })
	var first *Item
	n := 0
	for _, i := range order {
		switch {
		case done[s.items[i].ExampleID]:
			n++
		case first == nil:
			first = &s.items[i]
		}
	}
	return first, n, nil
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) { s.page(w, r, "", http.StatusOK) }

func (s *Server) page(w http.ResponseWriter, r *http.Request, problem string, status int) {
	v := view{Annotator: strings.TrimSpace(r.FormValue("annotator")), Total: len(s.items), Problem: problem}
	if v.Annotator != "" {
		var err error
		if v.Item, v.Done, err = s.next(r, v.Annotator); err != nil {
			s.fail(w, err)
			return
		}
		if v.Item != nil {
			v.Parts = v.Item.parts()
			k := [2]string{v.Annotator, v.Item.ExampleID}
			s.mu.Lock()
			if _, again := s.shown[k]; !again {
				s.shown[k] = s.now()
			}
			s.mu.Unlock()
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := pageTemplate.Execute(w, v); err != nil {
		s.log.Warn("page", "error", err)
	}
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	s.log.Error("review", "error", err)
	http.Error(w, "the answer could not be kept; see the terminal", http.StatusInternalServerError)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "form: "+err.Error(), http.StatusBadRequest)
		return
	}
	f := r.PostForm
	annotator := strings.TrimSpace(f.Get("annotator"))
	at := slices.IndexFunc(s.items, func(it Item) bool { return it.ExampleID == f.Get("example_id") })
	switch {
	case annotator == "" || at < 0:
		http.Error(w, "no such item, or no name", http.StatusBadRequest)
		return
	case !slices.Contains([]string{"yes", "no", "cannot say"}, f.Get("valid")):
		s.page(w, r, "Please choose an answer.", http.StatusUnprocessableEntity)
		return
	}
	it := s.items[at]
	now := s.now()
	v := schemas.Vote{ExampleID: it.ExampleID, TextHash: it.TextHash, Annotator: annotator, Reason: strings.TrimSpace(f.Get("reason")), Time: now.UTC().Format(time.RFC3339)}
	v.Valid, _ = readValid(f.Get("valid"))
	var all []string
	for _, m := range it.Sentences {
		all = append(all, m.mark())
	}
	v.Sentences = marksOf(all, f["wrong"], v.Valid)
	s.mu.Lock()
	if shown, ok := s.shown[[2]string{annotator, it.ExampleID}]; ok {
		v.Seconds = now.Sub(shown).Round(100 * time.Millisecond).Seconds()
		delete(s.shown, [2]string{annotator, it.ExampleID})
	}
	s.mu.Unlock()
	if err := s.store.Put(r.Context(), v); err != nil {
		s.fail(w, err)
		return
	}
	http.Redirect(w, r, "/?"+(url.Values{"annotator": {annotator}}).Encode(), http.StatusSeeOther)
}

func (s *Server) votes(w http.ResponseWriter, r *http.Request) {
	votes, err := s.store.Votes(r.Context())
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="votes.jsonl"`)
	var line []byte
	for _, v := range votes {
		if line, err = schemas.AppendLine(line[:0], v); err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			s.log.Warn("votes", "error", err)
			return
		}
	}
}
