// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retcon-bench/retcon/internal/fetch"
	"github.com/retcon-bench/retcon/schemas"
)

// HubURL is the hub that [Push] uploads to by default.
const HubURL = "https://huggingface.co"

// ErrTagExists says that the hub has the release's version already. A
// published version is never overwritten.
var ErrTagExists = errors.New("the repository has this tag already; a published version is never overwritten")

// ErrNotVerified says that a release does not verify or is not complete, so that
// nothing was uploaded.
var ErrNotVerified = errors.New("the release does not verify")

// PushOptions say where a release goes.
type PushOptions struct {
	Endpoint   string // default HubURL
	Repository string // owner/name; default the recipe's release.repository
	Token      string // from the environment only, never logged
	DryRun     bool   // ask the hub what it would take, upload nothing
	Client     *http.Client
	Log        *slog.Logger
	Attempts   int           // of each request; default 5
	Wait       time.Duration // before the second attempt, doubled after each; default 1 s
}

// Pushed says what was uploaded, or in a dry run would be.
type Pushed struct {
	Repository string       `json:"repository"`
	Tag        string       `json:"tag"`
	DryRun     bool         `json:"dry_run"`
	Commit     string       `json:"commit"` // address of the commit
	Files      []PushedFile `json:"files"`
}

// PushedFile is one file of the release.
type PushedFile struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Mode     string `json:"mode"`     // regular or lfs, as the hub chose
	Uploaded bool   `json:"uploaded"` // false: the hub had the bytes already
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Push uploads a release to the hub and tags it with its version. The release
// must verify. Large files go first, by content, so a push that was cut goes on
// where it stopped: the hub says which bytes it has. One commit then holds all
// files, and only then the tag is made, so no tag names half a release.
func Push(ctx context.Context, dir string, opt PushOptions) (*Pushed, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if opt.Repository == "" {
		opt.Repository = r.Manifest.Recipe.Release.Repository
	}
	if !repositoryName.MatchString(opt.Repository) {
		return nil, fmt.Errorf("repository %q: want owner/name", opt.Repository)
	}
	if r.Manifest.State != schemas.StateComplete {
		return nil, fmt.Errorf("%s is %s; only complete releases are published: %w", r.ID(), r.Manifest.State, ErrNotVerified)
	}
	rep, err := Verify(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !rep.OK() {
		return nil, fmt.Errorf("%s: %w, so nothing is uploaded: %s (and %d more)", dir, ErrNotVerified, rep.Problems[0], len(rep.Problems)-1+rep.More)
	}
	h := newHub(opt)
	out := &Pushed{Repository: opt.Repository, Tag: r.Manifest.Version, DryRun: opt.DryRun}
	head, err := h.refs(ctx, out.Tag)
	if err != nil {
		return nil, err
	}
	if err := h.plan(ctx, dir, out); err != nil {
		return nil, err
	}
	if opt.DryRun {
		return out, nil
	}
	if err := h.uploadLarge(ctx, dir, out); err != nil {
		return out, err
	}
	oid, err := h.commit(ctx, dir, r, out, head)
	if err != nil {
		return out, err
	}
	return out, h.tag(ctx, out.Tag, oid)
}

type hub struct {
	PushOptions
	hashes map[string]schemas.FileHash
}

func newHub(opt PushOptions) *hub {
	if opt.Endpoint == "" {
		opt.Endpoint = HubURL
	}
	opt.Endpoint = strings.TrimRight(opt.Endpoint, "/")
	if opt.Client == nil {
		opt.Client = &http.Client{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Attempts <= 0 {
		opt.Attempts = 5
	}
	if opt.Wait <= 0 {
		opt.Wait = time.Second
	}
	return &hub{PushOptions: opt, hashes: map[string]schemas.FileHash{}}
}

func (h *hub) api(parts ...string) string {
	return h.Endpoint + "/api/datasets/" + h.Repository + "/" + strings.Join(parts, "/")
}

// request is one call, made again while the server is busy or the line is cut.
// body makes the content anew for each attempt.
type request struct {
	op, method, url string
	header          map[string]string
	body            func() (io.Reader, int64, error)
	auth            bool
}

// maxReply caps what is read of a hub's answer.
const maxReply = 8 << 20

func (h *hub) do(ctx context.Context, q request) ([]byte, http.Header, error) {
	var last error
	for attempt := range h.Attempts {
		if attempt > 0 {
			h.Log.Info("push: trying again", "what", q.op, "attempt", attempt+1, "error", last)
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-time.After(h.Wait << (attempt - 1)):
			}
		}
		b, header, again, err := h.once(ctx, q)
		if err == nil {
			return b, header, nil
		}
		if last = err; !again || ctx.Err() != nil {
			break
		}
	}
	return nil, nil, last
}

func (h *hub) once(ctx context.Context, q request) (reply []byte, header http.Header, again bool, err error) {
	fail := func(err error) error {
		return &fetch.Error{Op: q.op, Name: h.Repository, Kind: fetch.Network, Err: err}
	}
	var body io.Reader
	var size int64
	if q.body != nil {
		if body, size, err = q.body(); err != nil {
			return nil, nil, false, err
		}
	}
	if c, ok := body.(io.Closer); ok {
		defer c.Close()
	}
	req, err := http.NewRequestWithContext(ctx, q.method, q.url, body)
	if err != nil {
		return nil, nil, false, fail(errors.New("the hub gave an address that cannot be used"))
	}
	if body != nil {
		req.ContentLength = size
	}
	for k, v := range q.header {
		req.Header.Set(k, v)
	}
	req.Header.Set("User-Agent", "retcon/"+Version)
	if q.auth { // storage addresses are signed and must not see the token
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	res, err := h.Client.Do(req)
	if err != nil {
		var u *url.Error // its text holds the address, which may be signed
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, nil, true, fail(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return nil, nil, true, fail(err)
	}
	if res.StatusCode >= 300 {
		again := res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500
		return nil, nil, again, fail(&hubError{res.StatusCode, hubMessage(b)})
	}
	return b, res.Header, false, nil
}

// hubError is an answer of the hub that is no success.
type hubError struct {
	status  int
	message string
}

func (e *hubError) Error() string {
	s := fmt.Sprintf("HTTP %d", e.status)
	if e.message != "" {
		s += ": " + e.message
	}
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		s += " (does the token in HF_TOKEN allow writing to this repository?)"
	case http.StatusNotFound:
		s += " (make the repository first, or check its name)"
	}
	return s
}

func hubMessage(b []byte) string {
	var m struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(b, &m) == nil && m.Error != "" {
		return clip(m.Error)
	}
	return clip(strings.Join(strings.Fields(string(b)), " "))
}

func jsonBody(v any) func() (io.Reader, int64, error) {
	return func() (io.Reader, int64, error) {
		b, err := json.Marshal(v)
		return bytes.NewReader(b), int64(len(b)), err
	}
}

// refs returns the commit that main stands at, and refuses a tag that exists.
func (h *hub) refs(ctx context.Context, tag string) (head string, err error) {
	b, _, err := h.do(ctx, request{op: "list tags of", method: http.MethodGet, url: h.api("refs"), auth: true})
	if err != nil {
		return "", err
	}
	var refs struct {
		Branches, Tags []struct {
			Name         string `json:"name"`
			TargetCommit string `json:"targetCommit"`
		}
	}
	if err := json.Unmarshal(b, &refs); err != nil {
		return "", fmt.Errorf("tags of %s: %w", h.Repository, err)
	}
	for _, t := range refs.Tags {
		if t.Name == tag {
			return "", fmt.Errorf("%s, tag %s: %w", h.Repository, tag, ErrTagExists)
		}
	}
	for _, br := range refs.Branches {
		if br.Name == "main" {
			head = br.TargetCommit
		}
	}
	return head, nil
}

// sampleBytes is how much of a file the hub looks at to choose a mode.
const sampleBytes = 512

// plan asks the hub for every file whether it goes into the commit or to large
// file storage.
func (h *hub) plan(ctx context.Context, dir string, out *Pushed) error {
	names, err := listFiles(dir)
	if err != nil {
		return err
	}
	type ask struct {
		Path   string `json:"path"`
		Sample string `json:"sample"`
		Size   int64  `json:"size"`
	}
	var asks []ask
	for _, n := range names {
		hash, err := HashFile(dir, n)
		if err != nil {
			return err
		}
		h.hashes[n] = hash
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(n)))
		if err != nil {
			return &fetch.Error{Op: "open", Name: n, Kind: fetch.Disk, Err: err}
		}
		sample, err := io.ReadAll(io.LimitReader(f, sampleBytes))
		f.Close()
		if err != nil {
			return &fetch.Error{Op: "read", Name: n, Kind: fetch.Disk, Err: err}
		}
		asks = append(asks, ask{n, base64.StdEncoding.EncodeToString(sample), hash.Bytes})
	}
	modes := map[string]string{}
	for chunk := range slices.Chunk(asks, 256) {
		b, _, err := h.do(ctx, request{op: "plan upload to", method: http.MethodPost, url: h.api("preupload", "main"), auth: true,
			header: map[string]string{"Content-Type": "application/json"}, body: jsonBody(map[string]any{"files": chunk})})
		if err != nil {
			return err
		}
		var reply struct {
			Files []struct {
				Path         string `json:"path"`
				UploadMode   string `json:"uploadMode"`
				ShouldIgnore bool   `json:"shouldIgnore"`
			} `json:"files"`
		}
		if err := json.Unmarshal(b, &reply); err != nil {
			return fmt.Errorf("plan of %s: %w", h.Repository, err)
		}
		for _, f := range reply.Files {
			if f.ShouldIgnore {
				return fmt.Errorf("%s would leave out %s (its .gitignore); a release is published whole", h.Repository, f.Path)
			}
			modes[f.Path] = f.UploadMode
		}
	}
	for _, n := range names {
		if m := modes[n]; m != "regular" && m != "lfs" {
			return fmt.Errorf("%s: the hub gave upload mode %q for %s", h.Repository, m, n)
		}
		out.Files = append(out.Files, PushedFile{Path: n, Bytes: h.hashes[n].Bytes, Mode: modes[n]})
	}
	return nil
}

const lfsType = "application/vnd.git-lfs+json"

type lfsAction struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// uploadLarge uploads what the hub keeps in large file storage and has not yet.
func (h *hub) uploadLarge(ctx context.Context, dir string, out *Pushed) error {
	at := map[string][]int{} // by hash; two files may have the same bytes
	type object struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	}
	var objects []object
	for i, f := range out.Files {
		if f.Mode != "lfs" {
			continue
		}
		oid := h.hashes[f.Path].SHA256
		if at[oid] == nil {
			objects = append(objects, object{oid, f.Bytes})
		}
		at[oid] = append(at[oid], i)
	}
	for chunk := range slices.Chunk(objects, 100) {
		b, _, err := h.do(ctx, request{op: "ask for storage of", method: http.MethodPost, auth: true,
			url:    h.Endpoint + "/datasets/" + h.Repository + ".git/info/lfs/objects/batch",
			header: map[string]string{"Accept": lfsType, "Content-Type": lfsType},
			body:   jsonBody(map[string]any{"operation": "upload", "transfers": []string{"basic", "multipart"}, "hash_algo": "sha256", "ref": map[string]string{"name": "main"}, "objects": chunk})})
		if err != nil {
			return err
		}
		var reply struct {
			Objects []struct {
				OID     string `json:"oid"`
				Actions *struct {
					Upload *lfsAction `json:"upload"`
					Verify *lfsAction `json:"verify"`
				} `json:"actions"`
				Error *struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"objects"`
		}
		if err := json.Unmarshal(b, &reply); err != nil {
			return fmt.Errorf("storage of %s: %w", h.Repository, err)
		}
		answered := map[string]bool{}
		for _, o := range reply.Objects {
			if len(at[o.OID]) == 0 {
				return fmt.Errorf("storage of %s: an answer for %s, which nobody asked about", h.Repository, clip(o.OID))
			}
			answered[o.OID] = true
			f := &out.Files[at[o.OID][0]]
			switch {
			case o.Error != nil:
				return fmt.Errorf("storage of %s refuses %s: %s", h.Repository, f.Path, clip(o.Error.Message))
			case o.Actions == nil || o.Actions.Upload == nil:
				h.Log.Info("push: the hub has it", "file", f.Path)
				continue
			}
			if err := h.put(ctx, dir, *f, *o.Actions.Upload); err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			if v := o.Actions.Verify; v != nil {
				if _, _, err := h.do(ctx, request{op: "confirm upload to", method: http.MethodPost, url: v.Href, auth: h.own(v.Href),
					header: map[string]string{"Content-Type": lfsType}, body: jsonBody(object{o.OID, f.Bytes})}); err != nil {
					return fmt.Errorf("%s: %w", f.Path, err)
				}
			}
			f.Uploaded = true
			h.Log.Info("push: uploaded", "file", f.Path, "bytes", f.Bytes)
		}
		for _, o := range chunk {
			if !answered[o.OID] {
				return fmt.Errorf("storage of %s: no answer for %s", h.Repository, out.Files[at[o.OID][0]].Path)
			}
		}
	}
	return nil
}

// own reports whether an address is the hub's own, which may see the token.
func (h *hub) own(address string) bool {
	a, err1 := url.Parse(address)
	b, err2 := url.Parse(h.Endpoint)
	return err1 == nil && err2 == nil && a.Scheme == b.Scheme && a.Host == b.Host
}

// put uploads one file, whole or in the parts that the hub asked for.
func (h *hub) put(ctx context.Context, dir string, f PushedFile, up lfsAction) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	section := func(at, n int64) func() (io.Reader, int64, error) {
		return func() (io.Reader, int64, error) {
			file, err := os.Open(path)
			if err != nil {
				return nil, 0, &fetch.Error{Op: "open", Name: f.Path, Kind: fetch.Disk, Err: err}
			}
			return struct {
				io.Reader
				io.Closer
			}{io.NewSectionReader(file, at, n), file}, n, nil
		}
	}
	chunk, ok := up.Header["chunk_size"]
	if !ok {
		_, _, err := h.do(ctx, request{op: "upload to", method: http.MethodPut, url: up.Href, header: up.Header, body: section(0, f.Bytes)})
		return err
	}
	size, err := strconv.ParseInt(chunk, 10, 64)
	if err != nil || size <= 0 {
		return fmt.Errorf("the hub gave chunk size %q", clip(chunk))
	}
	count := int(math.Ceil(float64(f.Bytes) / float64(size)))
	type part struct {
		Number int    `json:"partNumber"`
		ETag   string `json:"etag"`
	}
	addresses := map[int]string{}
	for k, v := range up.Header {
		if n, err := strconv.Atoi(k); err == nil {
			addresses[n] = v
		}
	}
	if len(addresses) != count {
		return fmt.Errorf("the hub gave %d addresses for %d parts", len(addresses), count)
	}
	var parts []part
	for n := 1; n <= count; n++ {
		at := int64(n-1) * size
		_, header, err := h.do(ctx, request{op: "upload to", method: http.MethodPut, url: addresses[n], body: section(at, min(size, f.Bytes-at))})
		if err != nil {
			return fmt.Errorf("part %d of %d: %w", n, count, err)
		}
		if header.Get("ETag") == "" {
			return fmt.Errorf("part %d of %d: the storage gave no ETag", n, count)
		}
		parts = append(parts, part{n, header.Get("ETag")})
	}
	_, _, err = h.do(ctx, request{op: "finish upload to", method: http.MethodPost, url: up.Href, auth: h.own(up.Href),
		header: map[string]string{"Accept": lfsType, "Content-Type": lfsType}, body: jsonBody(map[string]any{"oid": h.hashes[f.Path].SHA256, "parts": parts})})
	return err
}

// commit makes one commit of all files: a JSON line for the header, one a file.
// It is made again only when the hub did not get it: its parent is named, so a
// second one on top of the first is refused and not doubled.
func (h *hub) commit(ctx context.Context, dir string, r *Release, out *Pushed, head string) (oid string, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	line := func(key string, value any) {
		if err == nil {
			err = enc.Encode(ordered{{"key", key}, {"value", value}})
		}
	}
	header := ordered{{"summary", r.ID()}, {"description", "Canary: " + r.Manifest.Canary}}
	if head != "" {
		header = append(header, ordered{{"parentCommit", head}}...)
	}
	line("header", header)
	for i := range out.Files {
		f := &out.Files[i]
		if f.Mode == "lfs" {
			line("lfsFile", ordered{{"path", f.Path}, {"algo", "sha256"}, {"oid", h.hashes[f.Path].SHA256}, {"size", f.Bytes}})
			continue
		}
		content, rerr := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if rerr != nil {
			return "", &fetch.Error{Op: "read", Name: f.Path, Kind: fetch.Disk, Err: rerr}
		}
		line("file", ordered{{"content", base64.StdEncoding.EncodeToString(content)}, {"path", f.Path}, {"encoding", "base64"}})
		f.Uploaded = true
	}
	if err != nil {
		return "", err
	}
	reply, _, err := h.do(ctx, request{op: "commit to", method: http.MethodPost, url: h.api("commit", "main"), auth: true,
		header: map[string]string{"Content-Type": "application/x-ndjson"},
		body:   func() (io.Reader, int64, error) { return bytes.NewReader(b.Bytes()), int64(b.Len()), nil }})
	if err != nil {
		return "", err
	}
	var c struct {
		URL string `json:"commitUrl"`
		OID string `json:"commitOid"`
	}
	if err := json.Unmarshal(reply, &c); err != nil || c.OID == "" {
		return "", fmt.Errorf("%s: the hub took the commit but did not name it: %v", h.Repository, err)
	}
	out.Commit = c.URL
	return c.OID, nil
}

// tag names the commit by the release's version. A tag that somebody made in
// the meantime is not moved.
func (h *hub) tag(ctx context.Context, tag, oid string) error {
	_, _, err := h.do(ctx, request{op: "tag", method: http.MethodPost, url: h.api("tag", url.PathEscape(oid)), auth: true,
		header: map[string]string{"Content-Type": "application/json"}, body: jsonBody(map[string]string{"tag": tag})})
	var refused *hubError
	if errors.As(err, &refused) && refused.status == http.StatusConflict {
		return fmt.Errorf("%s, tag %s: %w", h.Repository, tag, ErrTagExists)
	}
	return err
}
