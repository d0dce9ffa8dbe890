// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

const (
	clientEvery  = 2 * time.Second // what large text archives ask robots for
	clientStall  = time.Minute
	maxRedirects = 10
	// slowest is the rate in bytes a second below which a download counts as stalled.
	slowest = 64
)

func (c *Client) stall() time.Duration {
	if c.Stall > 0 {
		return c.Stall
	}
	return clientStall
}

// client builds the HTTP client on first use.
//
// Proxies: the guard judges the address a connection goes to, and behind a
// proxy that is always the proxy's. So the environment is not read, where a
// forgotten HTTP_PROXY would switch the guard off unseen; with Proxy set, the
// proxy itself may be anywhere and the target's name is resolved and judged
// here before each request. The proxy resolves it again: against a name that
// changes its address in between only the proxy can protect.
func (c *Client) client() *http.Client {
	c.once.Do(func() {
		dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
		t := &http.Transport{
			ForceAttemptHTTP2:   true,
			DisableCompression:  true, // bytes as stored; ranges would mean nothing otherwise
			TLSHandshakeTimeout: 15 * time.Second,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			IdleConnTimeout:     30 * time.Second,
			MaxConnsPerHost:     2,
			// A header is untrusted too.
			MaxResponseHeaderBytes: 256 << 10,
		}
		if c.Proxy != nil {
			t.Proxy = http.ProxyURL(c.Proxy)
		} else {
			// After resolution, before connecting: what is judged is what is dialled.
			dialer.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
				ap, err := netip.ParseAddrPort(address)
				if err != nil {
					return fmt.Errorf("%w: %s", ErrAddress, address)
				}
				return c.allow(ap)
			}
		}
		t.DialContext = dialer.DialContext
		c.http = &http.Client{
			Transport: &polite{c, t},
			CheckRedirect: func(req *http.Request, via []*http.Request) error {
				prev := via[len(via)-1].URL
				switch {
				case len(via) >= maxRedirects:
					return fmt.Errorf("%w: more than %d in a row", ErrRedirect, maxRedirects)
				case req.URL.Scheme != "http" && req.URL.Scheme != "https":
					return fmt.Errorf("%w: to %s", ErrRedirect, plainURL(req.URL))
				case prev.Scheme == "https" && req.URL.Scheme == "http":
					return fmt.Errorf("%w: from https to http (%s)", ErrRedirect, plainURL(req.URL))
				}
				return nil
			},
		}
	})
	return c.http
}

// plainURL is a URL for messages: without user, and without the query, in which
// redirects to storage services carry signatures.
func plainURL(u *url.URL) string {
	v := *u
	v.User, v.RawQuery, v.Fragment = nil, "", ""
	return v.String()
}

func (c *Client) allow(ap netip.AddrPort) error {
	if c.AllowPrivate || c.exempt != nil && c.exempt(ap) {
		return nil
	}
	return checkPublic(ap.Addr())
}

// polite is the transport that keeps to the rate of each host, also on the
// way through redirects.
type polite struct {
	c    *Client
	base *http.Transport
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (p *polite) CloseIdleConnections() { p.base.CloseIdleConnections() }

func (p *polite) RoundTrip(req *http.Request) (*http.Response, error) {
	dog := watchdogOf(req.Context())
	dog.pause(true)
	err := p.c.limiter(req.URL).Wait(req.Context())
	dog.pause(false)
	if err != nil {
		if req.Context().Err() == nil {
			err = errLate
		}
		return nil, err
	}
	if p.c.Proxy != nil && !p.c.AllowPrivate {
		if err := p.c.judgeName(req.Context(), req.URL); err != nil {
			return nil, err
		}
	}
	req = req.Clone(req.Context())
	ua := p.c.UserAgent
	if ua == "" {
		ua = "retcon-fetch"
	}
	req.Header.Set("User-Agent", ua)
	req.Header.Set("Accept-Encoding", "identity")
	return p.base.RoundTrip(req)
}

func (c *Client) limiter(u *url.URL) *rate.Limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.limiters[u.Host]
	if l == nil {
		limit := rate.Every(clientEvery)
		if c.Every > 0 {
			limit = rate.Every(c.Every)
		} else if c.Every < 0 {
			limit = rate.Inf
		}
		l = rate.NewLimiter(limit, 1)
		if c.limiters == nil {
			c.limiters = make(map[string]*rate.Limiter)
		}
		c.limiters[u.Host] = l
	}
	return l
}

// judgeName resolves a target that a proxy will connect to.
func (c *Client) judgeName(ctx context.Context, u *url.URL) error {
	host := u.Hostname()
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
		return fmt.Errorf("the proxy's target must be resolved to be judged: %w", err)
	}
	for _, a := range addrs {
		if err := c.allow(netip.AddrPortFrom(a, 0)); err != nil {
			return err
		}
	}
	return nil
}

// errLate saves the wait for a deadline that the rate will not let us meet.
var errLate = fmt.Errorf("the next request at the allowed rate would come too late: %w", context.DeadlineExceeded)

// Close drops idle connections. The client can still be used.
func (c *Client) Close() { c.client().CloseIdleConnections() }

// hopeless reports errors that no further attempt will cure.
func hopeless(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return true
	}
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(tls.RecordHeaderError))
}

// A watchdog ends an attempt in which too little comes. One deadline for a
// whole download would be wrong for large files on slow lines.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	every  time.Duration

	mu     sync.Mutex
	timer  *time.Timer
	bytes  int64
	paused bool
}

type watchdogKey struct{}

func watch(ctx context.Context, every time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &watchdog{ctx: ctx, cancel: cancel, every: every}
	d.mu.Lock()
	d.timer = time.AfterFunc(every, d.bark)
	d.mu.Unlock()
	return context.WithValue(ctx, watchdogKey{}, d), d
}

func watchdogOf(ctx context.Context) *watchdog {
	d, _ := ctx.Value(watchdogKey{}).(*watchdog)
	return d
}

func (d *watchdog) bark() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paused && float64(d.bytes) < slowest*d.every.Seconds() {
		d.cancel(fmt.Errorf("%w: %d bytes in %s", ErrSlow, d.bytes, d.every))
		return
	}
	d.bytes = 0
	d.timer.Reset(d.every)
}

// pause holds the watch while it is we who wait; afterwards a new period begins.
func (d *watchdog) pause(on bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = on
	if !on && d.timer.Stop() {
		d.bytes = 0
		d.timer.Reset(d.every)
	}
}

func (d *watchdog) fed(n int) {
	d.mu.Lock()
	d.bytes += int64(n)
	d.mu.Unlock()
}

func (d *watchdog) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
	d.cancel(nil)
}

// cause replaces the "context canceled" of an attempt we ended by the reason.
func (d *watchdog) cause(err error) error {
	if c := context.Cause(d.ctx); errors.Is(c, ErrSlow) {
		return c
	}
	return err
}
