// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const testToken = "hf_secret"

// fakeHub is a hub on the loopback: it keeps what it is given, and cuts what
// the test wants cut.
type fakeHub struct {
	*httptest.Server
	mu      sync.Mutex
	storage map[string][]byte            // by hash
	parts   map[string]map[string][]byte // by hash and part
	commits []map[string][]byte          // files of each
	tags    map[string]string
	chunk   int                        // multipart above it; 0 = never
	cut     func(r *http.Request) bool // true: answer 500
	leaked  []string                   // requests to storage that held the token
	puts    int
}

func newFakeHub(t *testing.T) *fakeHub {
	h := &fakeHub{storage: map[string][]byte{}, parts: map[string]map[string][]byte{}, tags: map[string]string{}}
	mux := http.NewServeMux()
	api := func(pattern string, f func(w http.ResponseWriter, r *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+testToken {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":"Invalid credentials"}`)
				return
			}
			f(w, r)
		})
	}
	api("GET /api/datasets/o/n/refs", func(w http.ResponseWriter, r *http.Request) {
		type ref struct {
			Name   string `json:"name"`
			Target string `json:"targetCommit"`
		}
		var tags []ref
		for n, c := range h.tags {
			tags = append(tags, ref{n, c})
		}
		reply(w, map[string]any{"branches": []ref{{"main", fmt.Sprintf("c%d", len(h.commits))}}, "tags": tags})
	})
	api("POST /api/datasets/o/n/preupload/main", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Files []struct {
				Path, Sample string
				Size         int64
			}
		}
		take(t, r, &in)
		var out []map[string]any
		for _, f := range in.Files {
			mode := "regular"
			if strings.HasSuffix(f.Path, ".parquet") {
				mode = "lfs"
			}
			if b, err := base64.StdEncoding.DecodeString(f.Sample); err != nil || int64(len(b)) != min(f.Size, 512) {
				t.Errorf("%s: a sample of %d bytes, %v", f.Path, len(b), err)
			}
			out = append(out, map[string]any{"path": f.Path, "uploadMode": mode, "shouldIgnore": false})
		}
		reply(w, map[string]any{"files": out})
	})
	api("POST /datasets/o/n.git/info/lfs/objects/batch", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Operation string
			Objects   []struct {
				OID  string
				Size int
			}
		}
		take(t, r, &in)
		var out []map[string]any
		for _, o := range in.Objects {
			answer := map[string]any{"oid": o.OID, "size": o.Size}
			if _, ok := h.storage[o.OID]; !ok {
				up := map[string]any{"href": h.URL + "/store/" + o.OID}
				if h.chunk > 0 && o.Size > h.chunk {
					header := map[string]string{"chunk_size": fmt.Sprint(h.chunk)}
					for n := 1; (n-1)*h.chunk < o.Size; n++ {
						header[fmt.Sprint(n)] = fmt.Sprintf("%s/store/%s?part=%05d", h.URL, o.OID, n)
					}
					up = map[string]any{"href": h.URL + "/complete/" + o.OID, "header": header}
				}
				answer["actions"] = map[string]any{"upload": up, "verify": map[string]any{"href": h.URL + "/verify/" + o.OID}}
			}
			out = append(out, answer)
		}
		reply(w, map[string]any{"transfer": "basic", "objects": out})
	})
	mux.HandleFunc("PUT /store/{oid}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			h.leaked = append(h.leaked, r.URL.Path)
		}
		b, _ := io.ReadAll(r.Body)
		h.puts++
		oid := r.PathValue("oid")
		if part := r.URL.Query().Get("part"); part != "" {
			if h.parts[oid] == nil {
				h.parts[oid] = map[string][]byte{}
			}
			h.parts[oid][part] = b
			w.Header().Set("ETag", `"`+part+`"`)
			return
		}
		h.store(t, oid, b)
	})
	api("POST /complete/{oid}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			OID   string
			Parts []struct {
				PartNumber int
				ETag       string
			}
		}
		take(t, r, &in)
		var all []byte
		for i, p := range in.Parts {
			if p.PartNumber != i+1 || p.ETag != fmt.Sprintf(`"%05d"`, i+1) {
				t.Errorf("part %+v", p)
			}
			all = append(all, h.parts[in.OID][fmt.Sprintf("%05d", i+1)]...)
		}
		h.store(t, in.OID, all)
	})
	api("POST /verify/{oid}", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := h.storage[r.PathValue("oid")]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	api("POST /api/datasets/o/n/commit/main", func(w http.ResponseWriter, r *http.Request) {
		files := map[string][]byte{}
		sc := bufio.NewScanner(r.Body)
		sc.Buffer(nil, 64<<20)
		for n := 0; sc.Scan(); n++ {
			var line struct {
				Key   string
				Value struct{ Summary, ParentCommit, Content, Path, Encoding, OID, Algo string }
			}
			if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
				t.Error(err)
			}
			v := line.Value
			switch {
			case n == 0 && line.Key == "header" && v.Summary == "hats@1.0.0":
				if v.ParentCommit != fmt.Sprintf("c%d", len(h.commits)) {
					w.WriteHeader(http.StatusPreconditionFailed)
					return
				}
			case line.Key == "file" && v.Encoding == "base64":
				files[v.Path], _ = base64.StdEncoding.DecodeString(v.Content)
			case line.Key == "lfsFile" && v.Algo == "sha256" && h.storage[v.OID] != nil:
				files[v.Path] = h.storage[v.OID]
			default:
				t.Errorf("line %d of the commit: %s", n, clip(sc.Text()))
			}
		}
		h.commits = append(h.commits, files)
		reply(w, map[string]string{"commitUrl": h.URL + "/commit", "commitOid": fmt.Sprintf("c%d", len(h.commits))})
	})
	api("POST /api/datasets/o/n/tag/{oid}", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Tag string }
		take(t, r, &in)
		if h.tags[in.Tag] != "" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		h.tags[in.Tag] = r.PathValue("oid")
	})
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.cut != nil && h.cut(r) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *fakeHub) store(t *testing.T, oid string, b []byte) {
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != oid {
		t.Errorf("storage of %s got other bytes", oid)
	}
	h.storage[oid] = b
}

func take(t *testing.T, r *http.Request, v any) {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
	}
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (h *fakeHub) options() PushOptions {
	return PushOptions{Endpoint: h.URL, Repository: "o/n", Token: testToken, Attempts: 3, Wait: time.Millisecond}
}

// What lies on the hub after a push is the release, byte for byte, under a tag
// that is its version; large files in parts, the token never shown to storage.
func TestPush(t *testing.T) {
	dir := testRelease(t)
	keep, err := snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, chunk := range []int{0, 5000} {
		h := newFakeHub(t)
		h.chunk = chunk
		var log bytes.Buffer
		opt := h.options()
		opt.Log = slog.New(slog.NewTextHandler(&log, nil))

		dry := opt
		dry.DryRun = true
		p, err := Push(context.Background(), dir, dry)
		if err != nil || len(p.Files) != len(keep) || len(h.commits)+h.puts+len(h.tags) != 0 {
			t.Fatalf("dry run: %d files, %v; %d commits, %d puts", len(p.Files), err, len(h.commits), h.puts)
		}
		if p, err = Push(context.Background(), dir, opt); err != nil {
			t.Fatal(err)
		}
		if p.Tag != "1.0.0" || h.tags["1.0.0"] != "c1" || len(h.commits) != 1 || len(h.commits[0]) != len(keep) {
			t.Fatalf("%+v, tags %v, %d commits", p, h.tags, len(h.commits))
		}
		for n, b := range keep {
			if !bytes.Equal(h.commits[0][n], b) {
				t.Errorf("%s: other bytes on the hub", n)
			}
		}
		if len(h.leaked) > 0 || strings.Contains(log.String(), testToken) {
			t.Errorf("the token got out: %v\n%s", h.leaked, &log)
		}
		// The same version a second time is refused before anything is sent.
		puts := h.puts
		if _, err := Push(context.Background(), dir, opt); !errors.Is(err, ErrTagExists) || h.puts != puts || len(h.commits) != 1 {
			t.Errorf("again: %v", err)
		}
	}
}

// A push that is cut anywhere tags nothing, and the next one goes on: what the
// storage has is not sent again.
func TestPushResumes(t *testing.T) {
	dir := testRelease(t)
	h := newFakeHub(t)
	large := 0
	h.cut = func(r *http.Request) bool {
		if r.Method == http.MethodPut {
			large++
		}
		return r.Method == http.MethodPut && large > 2
	}
	if _, err := Push(context.Background(), dir, h.options()); err == nil || len(h.commits)+len(h.tags) > 0 {
		t.Fatalf("the cut push: %v, %d commits, tags %v", err, len(h.commits), h.tags)
	}
	had := len(h.storage)
	h.cut, h.puts = nil, 0
	p, err := Push(context.Background(), dir, h.options())
	if err != nil || h.tags["1.0.0"] == "" {
		t.Fatal(err)
	}
	if had != 2 || h.puts != len(h.storage)-had {
		t.Errorf("%d objects were there, %d of %d sent again", had, h.puts, len(h.storage))
	}
	if p.Commit == "" {
		t.Error("no commit is named")
	}
	// Busy once at every address: each is asked again.
	h = newFakeHub(t)
	seen := map[string]bool{}
	h.cut = func(r *http.Request) bool {
		first := !seen[r.Method+r.URL.Path]
		seen[r.Method+r.URL.Path] = true
		return first
	}
	if _, err := Push(context.Background(), dir, h.options()); err != nil || len(h.commits) != 1 {
		t.Errorf("a busy hub: %v, %d commits", err, len(h.commits))
	}
}

func TestPushRefuses(t *testing.T) {
	dir := testRelease(t)
	h := newFakeHub(t)
	wrong := h.options()
	wrong.Token = "hf_other"
	if _, err := Push(context.Background(), dir, wrong); err == nil || !strings.Contains(err.Error(), "HF_TOKEN") || strings.Contains(err.Error(), "hf_other") {
		t.Errorf("another token: %v", err)
	}
	nowhere := h.options()
	nowhere.Repository = "../n"
	if _, err := Push(context.Background(), dir, nowhere); err == nil || !strings.Contains(err.Error(), "owner/name") {
		t.Errorf("another name: %v", err)
	}
	write(t, dir, CardFile, func(w io.Writer) error { _, err := io.WriteString(w, "# Changed\n"); return err })
	if _, err := Push(context.Background(), dir, h.options()); err == nil || !strings.Contains(err.Error(), "does not verify") || h.puts > 0 {
		t.Errorf("a release that does not verify: %v", err)
	}
}
