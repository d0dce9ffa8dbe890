// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

// Client downloads files politely. The zero value works; set UserAgent to
// something that names a contact. A Client may be used by several goroutines;
// do not change it after the first Get.
type Client struct {
	UserAgent    string        // "" = "retcon-fetch"
	Every        time.Duration // least time between two requests to one host; 0 = 2 s, negative = none
	MaxBytes     int64         // cap on one file; 0 = 64 GiB, negative = none
	MaxTries     int           // attempts in a row without progress, 0 = 6
	MaxWait      time.Duration // longest single wait; 0 = 5 min. A server that asks for more ends the attempts
	Stall        time.Duration // give an attempt up when this long (almost) nothing came; 0 = 60 s
	AllowPrivate bool          // allow addresses that are not public (private, loopback, link-local, ...)
	Proxy        *url.URL      // the only proxy used: HTTP_PROXY and its kin are not read, see transport.go
	Log          *slog.Logger  // nil = slog.Default()

	once     sync.Once
	http     *http.Client
	mu       sync.Mutex
	limiters map[string]*rate.Limiter

	// For tests: exempt addresses, the first wait of the backoff, and a wrap
	// around the file written to.
	exempt    func(netip.AddrPort) bool
	firstWait time.Duration
	wrap      func(io.Writer) io.Writer
}

// GetOptions are wishes for one file.
type GetOptions struct {
	SHA256   string // expected hash, hex; "" = not checked. A file that is there with this hash is not asked for again
	MaxBytes int64  // in place of Client.MaxBytes, if not 0
	Refetch  bool   // ignore what an earlier run left: no conditional request, no resume
}

// Result says what Get left at its destination.
type Result struct {
	URL          string // as asked
	FinalURL     string // after redirects, without query (it may hold a signature); "" if no request was needed
	Size         int64  // bytes of the file on disk
	SHA256       string // of the file on disk, lower-case hex
	ETag         string
	LastModified string
	NotModified  bool // the file was there and is still right, by SHA256 or by the server's word
	Resumed      bool // part of it was there from an earlier attempt
}

// StatusError is an answer that is not the file.
type StatusError struct {
	Code   int
	Status string
}

func (e *StatusError) Error() string { return "the server answered " + e.Status }

const (
	clientMaxBytes = 64 << 30
	clientMaxTries = 6
	clientMaxWait  = 5 * time.Minute
	// progress is what an attempt must add for the count of attempts to start
	// anew: a server that drips must not keep us for ever.
	progress = 64 << 10
)

// Get downloads rawURL to the file dest and makes dest's folder if needed.
//
// The file appears under its name only complete, checked and synced. Until
// then it grows as ".<name>.partial" beside it, and a later Get goes on there
// if the server's ETag or date says that it is the same file (If-Range);
// ".<name>.fetch.json" keeps what a conditional request needs. The bytes are
// those the server stores; nothing is decompressed on the way.
//
// Connections, those after redirects too, go to public addresses only, judged
// after name resolution on the address really dialled; a redirect from https
// to http is refused. Waits between attempts grow, with jitter, and honour
// Retry-After.
//
// Errors are [*Error] values: Network for the server and the way to it (a
// [*StatusError] inside if it answered), Disk for the file, Input for a wrong
// URL or address, a checksum that differs, a file above the cap.
func (c *Client) Get(ctx context.Context, rawURL, dest string, opt GetOptions) (Result, error) {
	g, err := c.newGet(rawURL, dest, opt)
	if err != nil {
		return Result{}, err
	}
	if res, ok, err := g.present(); ok || err != nil {
		return res, err
	}
	if err := g.lockPartial(); err != nil {
		return Result{}, err
	}
	defer g.close()

	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = time.Second
	if c.firstWait > 0 {
		wait.InitialInterval = c.firstWait
	}
	wait.Multiplier = 2
	wait.MaxInterval = min(time.Minute, c.maxWait())
	tries, best := 0, g.have
	res, err := backoff.Retry(ctx, func() (Result, error) {
		res, err := g.attempt(ctx)
		if err == nil {
			return res, nil
		}
		var permanent *backoff.PermanentError
		if errors.As(err, &permanent) {
			return res, err
		}
		if ctx.Err() != nil {
			return res, backoff.Permanent(err)
		}
		tries++
		if g.have >= best+progress {
			tries, best = 1, g.have
			wait.Reset()
		}
		if max := c.maxTries(); tries >= max {
			return res, backoff.Permanent(g.network(fmt.Errorf("given up after %d attempts: %w", tries, err)))
		}
		var after *backoff.RetryAfterError
		if errors.As(err, &after) && after.Duration > c.maxWait() {
			return res, backoff.Permanent(g.network(fmt.Errorf("%w; it asks to come back in %s, more than the %s allowed", err, after.Duration, c.maxWait())))
		}
		return res, err
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, d time.Duration) {
		c.log().Info("download interrupted, trying again", "url", g.show, "have", g.have, "wait", d.Round(time.Millisecond), "error", err)
	}))
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil && KindOf(err) == 0:
		return Result{}, contextError(ctx, "get", g.show)
	case errors.Is(err, errLate):
		return Result{}, fmt.Errorf("get %s: %w", g.show, errLate)
	}
	return Result{}, g.network(err)
}

func (c *Client) maxWait() time.Duration {
	if c.MaxWait > 0 {
		return c.MaxWait
	}
	return clientMaxWait
}

func (c *Client) maxTries() int {
	if c.MaxTries > 0 {
		return c.MaxTries
	}
	return clientMaxTries
}

func (c *Client) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// A note is what is remembered of an answer: beside a finished file for a
// conditional request, beside a partial one for its continuation.
type note struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Size         int64  `json:"size"` // of the whole file, -1 if not told
	SHA256       string `json:"sha256,omitempty"`
	// Strong is the validator that may stand in If-Range: byte ranges of two
	// versions must never be joined, so a weak ETag or a date of the very
	// second (RFC 9110, 8.8.2.2) will not do.
	Strong string `json:"strong,omitempty"`
}

// getting is one Get under way.
type getting struct {
	c         *Client
	url       *url.URL
	show      string // the URL for people, without password
	dest      string
	partial   string // path of the growing file
	noteOf    string // path of the note of dest
	opt       GetOptions
	max       int64
	cond      *note // what a conditional request may say
	f         *os.File
	have      int64 // bytes in f
	sum       hash.Hash
	part      note // of f
	inherited bool // f holds bytes of an earlier attempt or run
}

func (c *Client) newGet(rawURL, dest string, opt GetOptions) (*getting, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, &Error{"get", "URL", Input, err}
	}
	show := u.Redacted()
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &Error{"get", show, Input, fmt.Errorf("%w: an http or https URL is wanted", ErrFormat)}
	}
	u.Fragment = ""
	if opt.SHA256 = strings.ToLower(opt.SHA256); opt.SHA256 != "" {
		if b, err := hex.DecodeString(opt.SHA256); err != nil || len(b) != sha256.Size {
			return nil, &Error{"get", show, Input, fmt.Errorf("%w: %q is not a SHA-256 in hex", ErrFormat, opt.SHA256)}
		}
	}
	dir, base := filepath.Split(dest)
	if base == "" || base == "." || base == ".." {
		return nil, &Error{"get", show, Input, fmt.Errorf("%w: destination %q is no file name", ErrFormat, dest)}
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, writeError(dest, err)
		}
	}
	max := c.MaxBytes
	if opt.MaxBytes != 0 {
		max = opt.MaxBytes
	}
	if max == 0 {
		max = clientMaxBytes
	}
	if max < 0 {
		max = math.MaxInt64
	}
	return &getting{c: c, url: u, show: show, dest: dest, opt: opt, max: max,
		partial: filepath.Join(dir, "."+base+".partial"), noteOf: filepath.Join(dir, "."+base+".fetch.json")}, nil
}

func (g *getting) network(err error) error {
	if KindOf(err) != 0 {
		return err
	}
	return &Error{"get", g.show, Network, err}
}

func (g *getting) input(err error) error {
	return backoff.Permanent(&Error{"get", g.show, Input, err})
}

// present looks at what is at dest already. With the right hash it is the
// answer; else it is what a conditional request is about, provided it is the
// file that the note beside it was written for.
func (g *getting) present() (Result, bool, error) {
	if g.opt.Refetch {
		return Result{}, false, nil
	}
	info, err := os.Lstat(g.dest)
	if err != nil || !info.Mode().IsRegular() {
		if err == nil && info.IsDir() {
			return Result{}, false, &Error{"write", g.dest, Disk, fmt.Errorf("%w but a folder", ErrSpecial)}
		}
		return Result{}, false, nil
	}
	n := readNote(g.noteOf)
	usable := n != nil && n.URL == g.show && n.Size == info.Size() && (n.ETag != "" || n.LastModified != "") &&
		(g.opt.SHA256 == "" || g.opt.SHA256 == n.SHA256)
	if !usable && g.opt.SHA256 == "" {
		return Result{}, false, nil
	}
	sum, size, err := HashFile(g.dest)
	if err != nil {
		return Result{}, false, &Error{"read", g.dest, Disk, err}
	}
	if g.opt.SHA256 == sum {
		return Result{URL: g.show, Size: size, SHA256: sum, NotModified: true}, true, nil
	}
	if usable && n.SHA256 == sum {
		g.cond = n
	}
	return Result{}, false, nil
}

func readNote(path string) *note {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var n note
	if json.Unmarshal(data, &n) != nil { // a damaged note costs a full download, nothing else
		return nil
	}
	return &n
}

func writeNote(path string, n note) error {
	return WriteFileAtomic(path, 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(n)
	})
}

// lockPartial opens the growing file for this process alone.
func (g *getting) lockPartial() error {
	for range 10 {
		f, err := os.OpenFile(g.partial, os.O_RDWR|os.O_CREATE|openNonblock|openNofollow, 0o644)
		if err != nil {
			return writeError(g.partial, err)
		}
		if err := lock(f); err != nil {
			f.Close()
			if isLocked(err) {
				err = errors.New("another process is downloading it")
			}
			return &Error{"write", g.partial, Disk, err}
		}
		// Its former holder may have renamed it to its final name while we
		// opened it; writing on would then change a finished file.
		held, err := f.Stat()
		if err != nil {
			f.Close()
			return writeError(g.partial, err)
		}
		if now, err := os.Lstat(g.partial); err != nil || !os.SameFile(held, now) || !held.Mode().IsRegular() {
			f.Close()
			continue
		}
		g.f = f
		return g.takeOver(held.Size())
	}
	return &Error{"write", g.partial, Disk, errors.New("it is replaced all the time")}
}

// takeOver decides whether the bytes an earlier run left may be continued.
func (g *getting) takeOver(size int64) error {
	g.sum = sha256.New()
	n := readNote(g.partial + ".json")
	if size == 0 || g.opt.Refetch || n == nil || n.URL != g.show || n.Strong == "" || size > g.max || n.Size >= 0 && size > n.Size {
		return g.restart()
	}
	if size == n.Size {
		// Complete, but the process ended before it was published. Asking for
		// the last byte again is the cheapest way to hear that the server
		// still has this version.
		size--
	}
	if _, err := io.CopyN(g.sum, g.f, size); err != nil {
		return writeError(g.partial, err)
	}
	if err := g.f.Truncate(size); err != nil {
		return writeError(g.partial, err)
	}
	g.have, g.part, g.inherited = size, *n, true
	return nil
}

// restart empties the growing file.
func (g *getting) restart() error {
	g.have, g.part, g.inherited = 0, note{}, false
	g.sum.Reset()
	if err := g.f.Truncate(0); err != nil {
		return writeError(g.partial, err)
	}
	if err := os.Remove(g.partial + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeError(g.partial, err)
	}
	return nil
}

// discard removes what was downloaded, so that wrong bytes are not continued.
func (g *getting) discard() {
	g.f.Close()
	g.f = nil
	os.Remove(g.partial)
	os.Remove(g.partial + ".json")
}

func (g *getting) close() {
	if g.f == nil {
		return
	}
	keep := g.have > 0 && g.part.Strong != ""
	if !keep {
		g.discard()
		return
	}
	g.f.Close()
}

// attempt makes one request and takes what comes.
func (g *getting) attempt(ctx context.Context) (Result, error) {
	ctx, dog := watch(ctx, g.c.stall())
	defer dog.stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url.String(), nil)
	if err != nil {
		return Result{}, g.input(err)
	}
	switch {
	case g.have > 0 && g.part.Strong != "":
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", g.have))
		req.Header.Set("If-Range", g.part.Strong)
	case g.cond != nil:
		if g.cond.ETag != "" {
			req.Header.Set("If-None-Match", g.cond.ETag)
		}
		if g.cond.LastModified != "" {
			req.Header.Set("If-Modified-Since", g.cond.LastModified)
		}
	}
	resp, err := g.c.client().Do(req)
	if err != nil {
		return Result{}, g.requestError(dog.cause(err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		if g.have > 0 {
			if err := g.restart(); err != nil {
				return Result{}, backoff.Permanent(err)
			}
		}
	case http.StatusPartialContent:
		if err := g.continues(resp); err != nil {
			if rerr := g.restart(); rerr != nil {
				return Result{}, backoff.Permanent(rerr)
			}
			return Result{}, err
		}
	case http.StatusNotModified:
		if g.cond == nil || g.have > 0 {
			return Result{}, backoff.Permanent(g.network(fmt.Errorf("%w to a request without condition", &StatusError{resp.StatusCode, resp.Status})))
		}
		g.discard()
		return Result{URL: g.show, FinalURL: plainURL(resp.Request.URL), Size: g.cond.Size, SHA256: g.cond.SHA256,
			ETag: g.cond.ETag, LastModified: g.cond.LastModified, NotModified: true}, nil
	case http.StatusRequestedRangeNotSatisfiable:
		// The file became shorter, or we had all of it and did not know: only
		// a new download tells.
		if g.have == 0 {
			return Result{}, backoff.Permanent(g.network(&StatusError{resp.StatusCode, resp.Status}))
		}
		if err := g.restart(); err != nil {
			return Result{}, backoff.Permanent(err)
		}
		return Result{}, &StatusError{resp.StatusCode, resp.Status}
	default:
		return Result{}, statusError(g, resp)
	}
	return g.receive(dog, resp)
}

// continues checks that a partial answer joins on to what we have.
func (g *getting) continues(resp *http.Response) error {
	if g.have == 0 {
		return fmt.Errorf("a part was sent that was not asked for")
	}
	from, total, err := contentRange(resp.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	if from != g.have {
		return fmt.Errorf("the server sent bytes from %d, not from %d", from, g.have)
	}
	if g.part.Size >= 0 && total >= 0 && total != g.part.Size {
		return fmt.Errorf("the file had %d bytes, now %d", g.part.Size, total)
	}
	if e := resp.Header.Get("ETag"); e != "" && g.part.ETag != "" && e != g.part.ETag {
		return fmt.Errorf("the file changed between two parts of the download (ETag %s, now %s)", g.part.ETag, e)
	}
	if total >= 0 {
		g.part.Size = total
	}
	g.inherited = true
	return nil
}

// contentRange reads "bytes 10-19/20"; total is -1 for "*".
func contentRange(s string) (from, total int64, err error) {
	bad := fmt.Errorf("unreadable Content-Range %q", s)
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, size, ok2 := strings.Cut(rest, "/")
	first, last, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, bad
	}
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	total = -1
	var err3 error
	if size != "*" {
		total, err3 = strconv.ParseInt(size, 10, 64)
	}
	if err1 != nil || err2 != nil || err3 != nil || from < 0 || to < from || total >= 0 && to >= total {
		return 0, 0, bad
	}
	return from, total, nil
}

// receive appends the body to the growing file and, if that makes it whole,
// publishes it.
func (g *getting) receive(dog *watchdog, resp *http.Response) (Result, error) {
	if resp.StatusCode == http.StatusOK {
		g.part = newNote(g.show, resp)
		if resp.ContentLength < 0 && resp.ProtoMajor == 1 && len(resp.TransferEncoding) == 0 && g.opt.SHA256 == "" {
			return Result{}, backoff.Permanent(g.network(errors.New(
				"the server tells neither the length nor the end of the file, so a cut could not be seen; give its SHA-256")))
		}
	}
	if g.part.Size > g.max {
		return Result{}, g.input(fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, g.part.Size, g.max))
	}
	if g.part.Size >= 0 {
		// Told beforehand, a full disk costs nobody gigabytes of traffic.
		free, err := FreeSpace(filepath.Dir(g.partial))
		if err == nil && free < g.part.Size-g.have {
			return Result{}, backoff.Permanent(&Error{"get", g.show, Disk,
				fmt.Errorf("%w in %s: %d bytes needed, %d free", ErrSpace, filepath.Dir(g.partial), g.part.Size-g.have, free)})
		}
	}
	if resp.StatusCode == http.StatusOK && g.part.Strong != "" {
		if err := writeNote(g.partial+".json", g.part); err != nil {
			return Result{}, backoff.Permanent(err)
		}
	}
	if _, err := g.f.Seek(g.have, io.SeekStart); err != nil {
		return Result{}, backoff.Permanent(writeError(g.partial, err))
	}
	var out io.Writer = g.f
	if g.c.wrap != nil {
		out = g.c.wrap(g.f)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		dog.fed(n)
		if n > 0 {
			if int64(n) > g.max-g.have {
				return Result{}, g.input(fmt.Errorf("%w of %d bytes", ErrTooLarge, g.max))
			}
			if _, werr := out.Write(buf[:n]); werr != nil {
				// Keep what is known to be there; the rest is cut on resume.
				g.f.Truncate(g.have)
				return Result{}, backoff.Permanent(writeError(g.partial, werr))
			}
			g.sum.Write(buf[:n])
			g.have += int64(n)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Result{}, fmt.Errorf("after %d bytes: %w", g.have, dog.cause(err))
		}
	}
	if g.part.Size >= 0 && g.have != g.part.Size {
		return Result{}, fmt.Errorf("%w: %d of %d bytes came", ErrTruncated, g.have, g.part.Size)
	}
	return g.finish(resp)
}

func newNote(show string, resp *http.Response) note {
	n := note{URL: show, ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified"), Size: resp.ContentLength}
	if resp.Uncompressed {
		n.Size = -1
	}
	if n.ETag != "" && !strings.HasPrefix(n.ETag, "W/") {
		n.Strong = n.ETag
		return n
	}
	modified, err1 := http.ParseTime(n.LastModified)
	date, err2 := http.ParseTime(resp.Header.Get("Date"))
	if err1 == nil && err2 == nil && date.Sub(modified) >= time.Minute {
		n.Strong = n.LastModified
	}
	return n
}

// finish checks and publishes the whole file.
func (g *getting) finish(resp *http.Response) (Result, error) {
	sum := hex.EncodeToString(g.sum.Sum(nil))
	if g.opt.SHA256 != "" && sum != g.opt.SHA256 {
		if g.inherited {
			// The fault may be in the bytes we had.
			if err := g.restart(); err != nil {
				return Result{}, backoff.Permanent(err)
			}
			return Result{}, fmt.Errorf("%w after a resume: SHA-256 %s, wanted %s", ErrChecksum, sum, g.opt.SHA256)
		}
		size := g.have
		g.discard()
		return Result{}, g.input(fmt.Errorf("%w: SHA-256 of the %d bytes is %s, wanted %s; nothing was kept", ErrChecksum, size, sum, g.opt.SHA256))
	}
	res := Result{URL: g.show, FinalURL: plainURL(resp.Request.URL), Size: g.have, SHA256: sum,
		ETag: g.part.ETag, LastModified: g.part.LastModified, Resumed: g.inherited}
	f := g.f
	if runtime.GOOS != "windows" {
		// The lock goes with the last descriptor, so hold one beyond the
		// rename; Windows cannot rename an open file.
		g.f = nil
		defer f.Close()
		if err := f.Sync(); err != nil {
			return Result{}, backoff.Permanent(writeError(g.partial, err))
		}
		if err := os.Rename(g.partial, g.dest); err != nil {
			return Result{}, backoff.Permanent(writeError(g.dest, err))
		}
		if err := SyncDir(filepath.Dir(g.dest)); err != nil {
			return Result{}, backoff.Permanent(err)
		}
	} else {
		g.f = nil
		if err := publish(f, g.dest); err != nil {
			return Result{}, backoff.Permanent(err)
		}
	}
	os.Remove(g.partial + ".json")
	n := g.part
	n.Size, n.SHA256, n.Strong = res.Size, sum, ""
	if err := writeNote(g.noteOf, n); err != nil {
		return Result{}, backoff.Permanent(err)
	}
	return res, nil
}

// requestError says whether another attempt can help.
func (g *getting) requestError(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // its text repeats the URL, password included
	}
	switch {
	case errors.Is(err, ErrAddress), errors.Is(err, ErrRedirect):
		return g.input(err)
	case errors.Is(err, errLate):
		return backoff.Permanent(err)
	case hopeless(err):
		return backoff.Permanent(g.network(err))
	}
	return err
}

func statusError(g *getting, resp *http.Response) error {
	io.CopyN(io.Discard, resp.Body, 4096) // so that the connection can be used again
	err := &StatusError{resp.StatusCode, resp.Status}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if d, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			return &waitError{err, &backoff.RetryAfterError{Duration: d}}
		}
		return err
	}
	return backoff.Permanent(g.network(err))
}

// waitError is a StatusError that tells the retry loop how long to wait.
type waitError struct {
	*StatusError
	after *backoff.RetryAfterError
}

func (e *waitError) Unwrap() []error { return []error{e.StatusError, e.after} }

// retryAfter reads seconds or a date.
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return time.Duration(min(n, 365*24*3600)) * time.Second, true
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(0, t.Sub(now)), true
	}
	return 0, false
}
