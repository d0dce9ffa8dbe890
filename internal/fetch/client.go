// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"log/slog"
	"net/url"
	"time"
)

// Client downloads files politely. The zero value works; set UserAgent.
// A Client may be used by several goroutines.
type Client struct {
	UserAgent    string        // "" = "retcon-fetch"; name a contact
	Every        time.Duration // least time between two requests to one host; 0 = 2 s, negative = none
	MaxBytes     int64         // cap on one file; 0 = 64 GiB, negative = none
	MaxTries     int           // attempts for one file, 0 = 6
	MaxWait      time.Duration // longest single wait, also when a server asks for more; 0 = 5 min
	Stall        time.Duration // give an attempt up when this long nothing (or next to nothing) came; 0 = 60 s
	AllowPrivate bool          // allow private, loopback, link-local and other non-public addresses
	Proxy        *url.URL      // the only proxy used; environment variables are not read
	Log          *slog.Logger  // nil = slog.Default()
}

// GetOptions are per-file wishes.
type GetOptions struct {
	SHA256   string // expected hash, hex; "" = not checked. A file already there with this hash is not requested again
	MaxBytes int64  // overrides Client.MaxBytes if not 0
	Refetch  bool   // ignore what a former run left (no conditional request, no resume)
}

// Result says what Get left at its destination.
type Result struct {
	URL          string // as asked
	FinalURL     string // after redirects
	Size         int64
	SHA256       string // of the file on disk
	ETag         string
	LastModified string
	NotModified  bool // the file was there already and the server (or SHA256) confirmed it
	Resumed      bool // part of it came from an earlier attempt
}

// Get downloads rawURL to the file dest.
func (c *Client) Get(ctx context.Context, rawURL, dest string, opt GetOptions) (Result, error) {
	panic("fetch: not yet written")
}
