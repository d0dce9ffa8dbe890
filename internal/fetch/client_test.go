// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a client for tests against servers on the loopback interface.
func quick(t *testing.T) *Client {
	c := &Client{UserAgent: "retcon-test (mail@example.org)", Every: -1, AllowPrivate: true, MaxTries: 3,
		Log: slog.New(slog.DiscardHandler), firstWait: time.Millisecond}
	t.Cleanup(c.Close)
	return c
}

// book is 300 kB that no part of resembles another.
func book() []byte {
	b := make([]byte, 300_000)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func hexSum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// A shelf is a server whose answers a test can bend.
type shelf struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	content  []byte
	etag     string
	bend     func(n int, w http.ResponseWriter, r *http.Request) bool // n counts from 1; true = answered
}

var oldDate = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func newShelf(t *testing.T, content []byte) *shelf {
	s := &shelf{content: content, etag: `"v1"`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		n := len(s.requests)
		content, etag := s.content, s.etag
		s.mu.Unlock()
		if s.bend != nil && s.bend(n, w, r) {
			return
		}
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		http.ServeContent(w, r, "book.txt", oldDate, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) headers(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var v []string
	for _, r := range s.requests {
		v = append(v, r.Header.Get(name))
	}
	return v
}

// cut announces the whole body, sends from..to of it and hangs up.
func cut(w http.ResponseWriter, content []byte, to int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:to])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestGet(t *testing.T) {
	content := book()
	s := newShelf(t, content)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	dest := filepath.Join(dir, "book.txt")
	c := quick(t)
	res, err := c.Get(t.Context(), s.URL+"/b", dest, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(dest)
	if !bytes.Equal(got, content) || res.SHA256 != hexSum(content) || res.Size != int64(len(content)) || res.ETag != `"v1"` || res.NotModified || res.Resumed {
		t.Errorf("%d bytes, result %+v", len(got), res)
	}
	if ua, enc := s.headers("User-Agent")[0], s.headers("Accept-Encoding")[0]; ua != c.UserAgent || enc != "identity" {
		t.Errorf("User-Agent %q, Accept-Encoding %q", ua, enc)
	}

	// Again: the server is asked whether it changed, and says no.
	res, err = c.Get(t.Context(), s.URL+"/b", dest, GetOptions{})
	if err != nil || !res.NotModified || res.SHA256 != hexSum(content) || s.headers("If-None-Match")[1] != `"v1"` {
		t.Errorf("second Get: %+v, %v, If-None-Match %q", res, err, s.headers("If-None-Match"))
	}
	// With the hash known nobody is asked at all.
	res, err = c.Get(t.Context(), s.URL+"/b", dest, GetOptions{SHA256: strings.ToUpper(hexSum(content))})
	if err != nil || !res.NotModified || len(s.headers("Range")) != 2 {
		t.Errorf("Get with hash: %+v, %v, %d requests", res, err, len(s.headers("Range")))
	}
	// A file somebody edited is not what the note is about.
	if err := os.WriteFile(dest, append(bytes.Clone(content[:len(content)-1]), 'x'), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err = c.Get(t.Context(), s.URL+"/b", dest, GetOptions{})
	if err != nil || res.NotModified || s.headers("If-None-Match")[2] != "" || res.SHA256 != hexSum(content) {
		t.Errorf("Get over an edited file: %+v, %v", res, err)
	}
	// A new version replaces the old one.
	s.mu.Lock()
	s.content, s.etag = []byte("second edition"), `"v2"`
	s.mu.Unlock()
	res, err = c.Get(t.Context(), s.URL+"/b", dest, GetOptions{})
	if got, _ := os.ReadFile(dest); err != nil || res.NotModified || string(got) != "second edition" {
		t.Errorf("Get of a new version: %+v, %v, %q", res, err, got)
	}
	if l := listing(t, dir); l != ".book.txt.fetch.json book.txt" {
		t.Errorf("folder holds %s", l)
	}
	for f, err := range Walk(t.Context(), dir, Limits{}) {
		if err != nil || f.Name != "book.txt" {
			t.Errorf("Walk shows %q, %v beside the download", f.Name, err)
		}
	}
}

// A connection cut in the middle is continued, in the same Get and in one of
// another process.
func TestGetResumes(t *testing.T) {
	content := book()
	for _, later := range []bool{false, true} {
		s := newShelf(t, content)
		s.bend = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				w.Header().Set("ETag", `"v1"`)
				cut(w, content, 100_000)
			}
			return false
		}
		dir := t.TempDir()
		dest := filepath.Join(dir, "b")
		c := quick(t)
		if later {
			c.MaxTries = 1
			_, err := c.Get(t.Context(), s.URL, dest, GetOptions{})
			if KindOf(err) != Network {
				t.Fatalf("cut download: %v", err)
			}
			if l := listing(t, dir); l != ".b.partial .b.partial.json" {
				t.Fatalf("after a cut the folder holds %s", l)
			}
			c = quick(t)
		}
		res, err := c.Get(t.Context(), s.URL, dest, GetOptions{SHA256: hexSum(content)})
		if err != nil || !res.Resumed || res.SHA256 != hexSum(content) {
			t.Fatalf("%+v, %v", res, err)
		}
		if r, i := s.headers("Range"), s.headers("If-Range"); len(r) != 2 || r[1] != "bytes=100000-" || i[1] != `"v1"` {
			t.Errorf("Range %q, If-Range %q", r, i)
		}
		if l := listing(t, dir); l != ".b.fetch.json b" {
			t.Errorf("folder holds %s", l)
		}
	}
}

// The parts of two versions must not be joined.
func TestGetDoesNotJoinVersions(t *testing.T) {
	old, now := book(), bytes.ToUpper(bytes.Repeat([]byte("new"), 100_000))
	for name, second := range map[string]func(s *shelf, w http.ResponseWriter, r *http.Request) bool{
		"If-Range obeyed": func(s *shelf, w http.ResponseWriter, r *http.Request) bool { return false },
		"If-Range ignored": func(s *shelf, w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("If-Range")
			return false
		},
		"ranges not known": func(s *shelf, w http.ResponseWriter, r *http.Request) bool {
			w.Write(now)
			return true
		},
		"wrong range sent": func(s *shelf, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-99/%d", len(now)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(now[:100])
			return true
		},
		"file shorter than the part": func(s *shelf, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", "bytes */10")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, now)
			s.etag = `"v2"`
			s.bend = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					w.Header().Set("ETag", `"v1"`)
					cut(w, old, 100_000)
				}
				return second(s, w, r)
			}
			dest := filepath.Join(t.TempDir(), "b")
			res, err := quick(t).Get(t.Context(), s.URL, dest, GetOptions{})
			got, _ := os.ReadFile(dest)
			if err != nil || !bytes.Equal(got, now) || res.SHA256 != hexSum(now) || res.Resumed {
				t.Errorf("%+v, %v; %d bytes on disk, equal: %t", res, err, len(got), bytes.Equal(got, now))
			}
		})
	}
}

// A weak validator is good for a condition, not for joining bytes.
func TestGetWeakValidators(t *testing.T) {
	for _, tt := range []struct {
		etag, modified, date, want string
	}{
		{`"s"`, "", "", `"s"`},
		{`W/"w"`, "", "", ""},
		{"", "Thu, 02 Jan 2020 03:04:05 GMT", "Thu, 02 Jan 2020 03:05:05 GMT", "Thu, 02 Jan 2020 03:04:05 GMT"},
		{"", "Thu, 02 Jan 2020 03:04:05 GMT", "Thu, 02 Jan 2020 03:04:05 GMT", ""},
		{"", "Thu, 02 Jan 2020 03:04:05 GMT", "", ""},
	} {
		h := http.Header{"Etag": {tt.etag}, "Last-Modified": {tt.modified}, "Date": {tt.date}}
		if got := newNote("u", &http.Response{Header: h}).Strong; got != tt.want {
			t.Errorf("%+v: If-Range %q", tt, got)
		}
	}
}

// Whatever goes wrong, nothing is under the final name, and an old file is as it was.
func TestGetFailures(t *testing.T) {
	content := book()
	private := newShelf(t, content)
	full := &os.PathError{Op: "write", Path: "b", Err: syscall.ENOSPC}
	tests := []struct {
		name  string
		bend  func(n int, w http.ResponseWriter, r *http.Request) bool
		tweak func(c *Client, s *shelf)
		opt   GetOptions
		kind  Kind
		is    error
		text  string
		tries int
		keeps bool // the part stays, for a resume
	}{
		{name: "checksum", opt: GetOptions{SHA256: hexSum(nil)}, kind: Input, is: ErrChecksum, text: "nothing was kept", tries: 1},
		{name: "declared size", opt: GetOptions{MaxBytes: 1000}, kind: Input, is: ErrTooLarge, text: "300000 bytes, limit 1000", tries: 1},
		{name: "size not declared", opt: GetOptions{MaxBytes: 1000}, kind: Input, is: ErrTooLarge, tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.(http.Flusher).Flush() // chunked from here
				for range 100 {
					w.Write(content[:1000])
				}
				return true
			}},
		{name: "404", kind: Network, text: "404 Not Found", tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }},
		{name: "503", kind: Network, text: "given up after 3 attempts: the server answered 503", tries: 3,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(503)
				return true
			}},
		{name: "come back tomorrow", kind: Network, text: "it asks to come back in 24h0m0s, more than the 5m0s allowed", tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Retry-After", "86400")
				w.WriteHeader(429)
				return true
			}},
		{name: "cut off each time", kind: Network, is: io.ErrUnexpectedEOF, tries: 3,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool { cut(w, content, 10); return true }},
		{name: "304 to nothing", kind: Network, text: "without condition", tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(304); return true }},
		{name: "no end", kind: Network, text: "give its SHA-256", tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				conn, _, _ := w.(http.Hijacker).Hijack()
				io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\nhalf a bo")
				conn.Close()
				return true
			}},
		{name: "silent server", kind: Network, is: ErrSlow, tries: 3,
			tweak: func(c *Client, s *shelf) { c.Stall = 50 * time.Millisecond },
			bend:  func(n int, w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }},
		{name: "server that stops in the middle", kind: Network, is: ErrSlow, tries: 3,
			tweak: func(c *Client, s *shelf) { c.Stall = 50 * time.Millisecond },
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Length", "300000")
				w.Write(content[:10])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return true
			}},
		{name: "loopback", kind: Input, is: ErrAddress, tries: 0,
			tweak: func(c *Client, s *shelf) { c.AllowPrivate = false }},
		{name: "redirect to a private address", kind: Input, is: ErrAddress, tries: 1,
			tweak: func(c *Client, s *shelf) {
				c.AllowPrivate = false
				host, _ := url.Parse(s.URL)
				c.exempt = func(a netip.AddrPort) bool { return a.String() == host.Host }
			},
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, private.URL, http.StatusFound)
				return true
			}},
		{name: "redirect to a file", kind: Input, is: ErrRedirect, tries: 1,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", "file:///etc/hostname")
				w.WriteHeader(302)
				return true
			}},
		{name: "redirects without end", kind: Input, is: ErrRedirect, tries: 10,
			bend: func(n int, w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, fmt.Sprintf("/%d", n), http.StatusFound)
				return true
			}},
		{name: "disk full", kind: Disk, is: ErrSpace, tries: 1, keeps: true,
			tweak: func(c *Client, s *shelf) {
				c.wrap = func(w io.Writer) io.Writer { return &fullDisk{w: w, left: 100_000, err: full} }
			}},
	}
	for _, tt := range tests {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/old=%t", tt.name, old), func(t *testing.T) {
				s := newShelf(t, content)
				s.bend = tt.bend
				dir := t.TempDir()
				dest := filepath.Join(dir, "b")
				if old {
					if err := os.WriteFile(dest, []byte("old"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				c := quick(t)
				if tt.tweak != nil {
					tt.tweak(c, s)
				}
				res, err := c.Get(t.Context(), s.URL, dest, tt.opt)
				if KindOf(err) != tt.kind || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(fmt.Sprint(err), tt.text) {
					t.Errorf("%+v, error (%v) %v", res, KindOf(err), err)
				}
				if n := len(s.headers("Range")); n != tt.tries {
					t.Errorf("%d requests, want %d", n, tt.tries)
				}
				want := ""
				if tt.keeps {
					want = ".b.partial .b.partial.json "
				}
				if old {
					want += "b"
					if data, _ := os.ReadFile(dest); string(data) != "old" {
						t.Errorf("the old file holds %d other bytes", len(data))
					}
				}
				if l := listing(t, dir); l != strings.TrimSpace(want) {
					t.Errorf("folder holds %q, want %q", l, want)
				}
				t.Log(err)
			})
		}
	}
	if n := len(private.headers("Range")); n != 0 {
		t.Errorf("%d requests reached the private server", n)
	}
}

type fullDisk struct {
	w    io.Writer
	left int
	err  error
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n, _ := f.w.Write(p[:f.left])
		f.left = 0
		return n, f.err
	}
	f.left -= len(p)
	return f.w.Write(p)
}

// A part whose disk was full goes on once there is room, at the last byte that
// was written.
func TestGetAfterFullDisk(t *testing.T) {
	content := book()
	s := newShelf(t, content)
	dest := filepath.Join(t.TempDir(), "b")
	c := quick(t)
	c.wrap = func(w io.Writer) io.Writer { return &fullDisk{w: w, left: 150_000, err: syscall.ENOSPC} }
	if _, err := c.Get(t.Context(), s.URL, dest, GetOptions{}); !errors.Is(err, ErrSpace) {
		t.Fatal(err)
	}
	res, err := quick(t).Get(t.Context(), s.URL, dest, GetOptions{})
	if err != nil || !res.Resumed || res.SHA256 != hexSum(content) {
		t.Errorf("%+v, %v", res, err)
	}
}

// Killed between the last byte and the rename: one byte is asked for, not all.
func TestGetCompletePart(t *testing.T) {
	content := book()
	for _, now := range []string{`"v1"`, `"v2"`} {
		s := newShelf(t, content)
		dir := t.TempDir()
		part := put(t, dir+"/.b.partial", content)
		if err := writeNote(part+".json", note{URL: s.URL, ETag: `"v1"`, Strong: `"v1"`, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		s.etag = now
		res, err := quick(t).Get(t.Context(), s.URL, dir+"/b", GetOptions{})
		if err != nil || res.SHA256 != hexSum(content) || res.Resumed != (now == `"v1"`) || s.headers("Range")[0] != "bytes=299999-" {
			t.Errorf("%+v, %v, Range %q", res, err, s.headers("Range"))
		}
	}
}

// A part that was damaged on disk shows in the checksum; the download starts
// anew instead of failing for ever.
func TestGetDamagedPart(t *testing.T) {
	content := book()
	s := newShelf(t, content)
	dir := t.TempDir()
	dest := filepath.Join(dir, "b")
	c := quick(t)
	c.wrap = func(w io.Writer) io.Writer { return &fullDisk{w: w, left: 150_000, err: syscall.ENOSPC} }
	c.Get(t.Context(), s.URL, dest, GetOptions{})
	part := filepath.Join(dir, ".b.partial")
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	data[7] ^= 1
	os.WriteFile(part, data, 0o644)
	res, err := quick(t).Get(t.Context(), s.URL, dest, GetOptions{SHA256: hexSum(content)})
	if err != nil || res.Resumed || res.SHA256 != hexSum(content) {
		t.Errorf("%+v, %v", res, err)
	}
}

// Many small steps forward are not failures; a Get gives up only without them.
func TestGetProgressResetsAttempts(t *testing.T) {
	content := book()
	s := newShelf(t, content)
	s.bend = func(n int, w http.ResponseWriter, r *http.Request) bool {
		var from int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("ETag", `"v1"`)
		to := min(from+70_000, len(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(content[from:to])
		if to < len(content) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return true
	}
	c := quick(t)
	c.MaxTries = 2
	res, err := c.Get(t.Context(), s.URL, filepath.Join(t.TempDir(), "b"), GetOptions{})
	if err != nil || res.SHA256 != hexSum(content) || len(s.headers("Range")) != 5 {
		t.Errorf("%+v, %v after %d requests", res, err, len(s.headers("Range")))
	}
}

func TestGetDowngradeRefused(t *testing.T) {
	plain := newShelf(t, book())
	s := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer s.Close()
	c := quick(t)
	c.client().Transport.(*polite).base.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	_, err := c.Get(t.Context(), s.URL, filepath.Join(t.TempDir(), "b"), GetOptions{})
	if !errors.Is(err, ErrRedirect) || KindOf(err) != Input || len(plain.headers("Range")) != 0 {
		t.Errorf("error %v, %d requests in the clear", err, len(plain.headers("Range")))
	}
	// And a certificate nobody vouches for is not tried again and again.
	_, err = quick(t).Get(t.Context(), s.URL, filepath.Join(t.TempDir(), "b"), GetOptions{})
	if KindOf(err) != Network || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "given up") {
		t.Errorf("unknown certificate: %v", err)
	}
}

func TestGetContext(t *testing.T) {
	s := newShelf(t, book())
	started := make(chan bool, 10)
	s.bend = func(n int, w http.ResponseWriter, r *http.Request) bool {
		started <- true
		<-r.Context().Done()
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	dir := t.TempDir()
	_, err := quick(t).Get(ctx, s.URL, filepath.Join(dir, "b"), GetOptions{})
	if !errors.Is(err, context.Canceled) || KindOf(err) != 0 {
		t.Errorf("cancelled: kind %v, %v", KindOf(err), err)
	}
	if l := listing(t, dir); l != "" {
		t.Errorf("folder holds %s", l)
	}
	// A rate that cannot meet the deadline is told at once.
	c := quick(t)
	c.Every = time.Hour
	s.bend = nil
	if _, err := c.Get(t.Context(), s.URL, filepath.Join(dir, "b"), GetOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err = c.Get(ctx, s.URL, filepath.Join(dir, "c"), GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second request within the hour: %v", err)
	}
}

// Two at once: one downloads, the other is told so; no byte is written twice.
func TestGetLocked(t *testing.T) {
	content := book()
	s := newShelf(t, content)
	first, second := make(chan bool), make(chan bool)
	s.bend = func(n int, w http.ResponseWriter, r *http.Request) bool {
		close(first)
		<-second
		return false
	}
	dest := filepath.Join(t.TempDir(), "b")
	done := make(chan error)
	go func() { _, err := quick(t).Get(t.Context(), s.URL, dest, GetOptions{}); done <- err }()
	<-first
	_, err := quick(t).Get(t.Context(), s.URL, dest, GetOptions{})
	if KindOf(err) != Disk || !strings.Contains(err.Error(), "another process") {
		t.Errorf("second Get: %v", err)
	}
	close(second)
	if err := <-done; err != nil {
		t.Errorf("first Get: %v", err)
	}
	if got, _ := os.ReadFile(dest); !bytes.Equal(got, content) {
		t.Error("other bytes")
	}
}

func TestGetBadRequests(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ url, dest, sum string }{
		{"ftp://example.org/x", "x", ""}, {"file:///etc/hostname", "x", ""}, {"http://", "x", ""}, {"//example.org/x", "x", ""},
		{"http://exa mple.org/x", "x", ""}, {"https://example.org/x", "", ""}, {"https://example.org/x", "x", "abc"},
	} {
		_, err := quick(t).Get(t.Context(), tt.url, dir+string(filepath.Separator)+tt.dest, GetOptions{SHA256: tt.sum})
		if KindOf(err) != Input {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if l := listing(t, dir); l != "" {
		t.Errorf("folder holds %s", l)
	}
	_, err := (&Client{Log: slog.New(slog.DiscardHandler)}).Get(t.Context(), "http://user:secret@127.0.0.1:1/x", filepath.Join(dir, "x"), GetOptions{})
	if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestCheckPublic(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0.1.2.3",
		"100.64.0.1", "100.127.255.255", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.0.1", "198.18.0.1", "192.0.2.1",
		"::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::", "64:ff9b:1::1", "2001:db8::1", "2001::1", "::ffff:0:7f00:1",
	} {
		if err := checkPublic(netip.MustParseAddr(s)); !errors.Is(err, ErrAddress) {
			t.Errorf("%s passes", s)
		}
	}
	for _, s := range []string{"8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"} {
		if err := checkPublic(netip.MustParseAddr(s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if checkPublic(netip.Addr{}) == nil {
		t.Error("no address at all passes")
	}
}

// Names are judged by what they resolve to, numbers by what they mean.
func TestGetRefusesLoopbackNames(t *testing.T) {
	s := newShelf(t, book())
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		c := quick(t)
		c.AllowPrivate = false
		_, err := c.Get(t.Context(), "http://"+host+":"+port, filepath.Join(t.TempDir(), "b"), GetOptions{})
		if !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := len(s.headers("Range")); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	// Behind a proxy the target is judged, not the proxy.
	var proxied int
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxied++; w.Write([]byte("hello")) }))
	defer proxy.Close()
	c := quick(t)
	c.AllowPrivate = false
	c.Proxy, _ = url.Parse(proxy.URL)
	if _, err := c.Get(t.Context(), s.URL, filepath.Join(t.TempDir(), "b"), GetOptions{}); !errors.Is(err, ErrAddress) || proxied != 0 {
		t.Errorf("private target through a proxy: %v, %d requests", err, proxied)
	}
	if _, err := c.Get(t.Context(), "http://8.8.8.8/x", filepath.Join(t.TempDir(), "b"), GetOptions{}); err != nil || proxied != 1 {
		t.Errorf("public target through a proxy: %v, %d requests", err, proxied)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for s, want := range map[string]time.Duration{"120": 2 * time.Minute, "Mon, 06 May 2024 07:09:09 GMT": time.Minute, "Mon, 06 May 2024 07:00:00 GMT": 0, "": -1, "soon": -1, "-3": -1, "99999999999": 365 * 24 * time.Hour} {
		d, ok := retryAfter(s, now)
		if !ok {
			d = -1
		}
		if d != want {
			t.Errorf("Retry-After %q: %v, want %v", s, d, want)
		}
	}
}

func TestContentRange(t *testing.T) {
	for s, want := range map[string][2]int64{"bytes 10-19/20": {10, 20}, "bytes 0-0/*": {0, -1}} {
		from, total, err := contentRange(s)
		if err != nil || [2]int64{from, total} != want {
			t.Errorf("%q: %d, %d, %v", s, from, total, err)
		}
	}
	for _, s := range []string{"", "bytes */20", "bytes 10-9/20", "bytes 10-20/20", "bytes -1-3/20", "items 1-2/3", "bytes 1-2", "bytes a-b/c"} {
		if _, _, err := contentRange(s); err == nil {
			t.Errorf("%q passes", s)
		}
	}
}

func TestWriteFileAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	put := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error { io.WriteString(w, s); return err }
	}
	if err := WriteFileAtomic(path, 0o640, put("one", nil)); err != nil {
		t.Fatal(err)
	}
	own := errors.New("row 3 is bad")
	for _, tt := range []struct {
		write func(io.Writer) error
		kind  Kind
		is    error
	}{
		{put("two", own), 0, own},
		{put("two", &Error{"read", "in", Input, own}), Input, own},
		{put("two", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), Disk, ErrSpace},
		{put("two", syscall.EIO), Disk, syscall.EIO},
		{put(strings.Repeat("x", 1<<20), context.Canceled), 0, context.Canceled},
	} {
		err := WriteFileAtomic(path, 0o640, tt.write)
		if !errors.Is(err, tt.is) || KindOf(err) != tt.kind || !strings.Contains(err.Error(), path) {
			t.Errorf("kind %v, %v", KindOf(err), err)
		}
	}
	func() {
		defer func() { recover() }()
		WriteFileAtomic(path, 0o640, func(io.Writer) error { panic("bug") })
	}()
	if data, _ := os.ReadFile(path); string(data) != "one" || listing(t, dir) != "out" {
		t.Errorf("%q in %s", data, listing(t, dir))
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := WriteFileAtomic(filepath.Join(dir, "no", "out"), 0o640, put("", nil)); KindOf(err) != Disk {
		t.Errorf("missing folder: %v", err)
	}
	if err := WriteFileAtomic(dir, 0o640, put("", nil)); KindOf(err) != Disk || listing(t, filepath.Dir(dir)) != filepath.Base(dir) {
		t.Errorf("over a folder: %v, %s", err, listing(t, filepath.Dir(dir)))
	}
	free, err := FreeSpace(dir)
	if err != nil || free <= 0 {
		t.Errorf("FreeSpace: %d, %v", free, err)
	}
	if _, err := FreeSpace(filepath.Join(dir, "no")); KindOf(err) != Disk {
		t.Errorf("FreeSpace of nothing: %v", err)
	}
}
