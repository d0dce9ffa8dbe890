// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/netip"
)

// notPublic lists the blocks of IANA's special-purpose registries (IPv4 and
// IPv6, RFC 6890 and later) that are not for the open internet and that no
// method of netip.Addr covers.
var notPublic = func() []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8",       // this network
		"100.64.0.0/10",   // shared address space of carriers (CGNAT)
		"192.0.0.0/24",    // protocol assignments
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // 6to4 relays
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"240.0.0.0/4",     // reserved, broadcast
		"::/96",           // IPv4-compatible, deprecated
		"::ffff:0:0:0/96", // IPv4-translated
		"64:ff9b:1::/48",  // local-use NAT64
		"100::/64",        // discard only
		"2001::/23",       // protocol assignments, Teredo
		"2001:db8::/32",   // documentation
		"3fff::/20",       // documentation
		"5f00::/16",       // segment routing
		"fec0::/10",       // site-local, deprecated
	} {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}()

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

// checkPublic returns an error unless a is an address of the open internet.
// IPv4 inside IPv6 (mapped, NAT64, 6to4) is judged as the IPv4 it reaches.
func checkPublic(a netip.Addr) error {
	reached := a.WithZone("").Unmap()
	if reached.Is6() {
		b := reached.As16()
		switch {
		case nat64.Contains(reached):
			reached = netip.AddrFrom4([4]byte(b[12:16]))
		case sixTo4.Contains(reached):
			reached = netip.AddrFrom4([4]byte(b[2:6]))
		}
	}
	bad := !reached.IsValid() || reached.IsUnspecified() || reached.IsLoopback() || reached.IsPrivate() || reached.IsLinkLocalUnicast() || reached.IsMulticast()
	for _, p := range notPublic {
		bad = bad || p.Contains(reached)
	}
	if bad {
		return fmt.Errorf("%w: %s; allow private addresses if it is meant", ErrAddress, a)
	}
	return nil
}
