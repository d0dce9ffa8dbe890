// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// hashWords sets w.hashes to the hashes of the words of s, as fold does, and
// returns the litter: characters that clean prose seldom has ([ \ ] ^ _ { | }
// ~ and U+FFFD), left over from transcription.
//
// It looks at 64 bytes at a time, as bits: letters and digits, and characters
// that need a closer look (apostrophes, all beyond ASCII). What lies between
// others is a token. Nearly all tokens are words of plain letters, hashed where
// they stand; the rest go through fold one by one.
func (w *signer) hashWords(s string) (litter int) {
	hashes := w.hashes[:0]
	start, closer := -1, false // of a token that reaches into the next block
	var tail [64]byte
	for base := 0; base < len(s); base += 64 {
		var plain, special uint64
		block := s[base:]
		if len(block) < 64 {
			tail = [64]byte{}
			copy(tail[:], block)
			block = string(tail[:])
		}
		for i := 0; i < 64; i += 8 {
			x := load(block, i)
			plain |= gather(plainBytes(x)) << i
			special |= gather(oddBytes(x)) << i
		}
		if special != 0 { // litter among the odd ones parts words
			for i := 0; i < 64; i += 8 {
				l := litterBytes(load(block, i))
				litter += bits.OnesCount64(l)
				special &^= gather(l) << i
			}
		}
		token := plain | special
		if start >= 0 {
			n := bits.TrailingZeros64(^token)
			closer = closer || special&(1<<n-1) != 0 // n may be 64: then all bits
			if n == 64 {
				continue
			}
			hashes, litter = w.token(hashes, s, start, base+n, closer, litter)
			token &^= 1<<n - 1
			start = -1
		}
		for token != 0 {
			at := bits.TrailingZeros64(token) & 63
			n := bits.TrailingZeros64(^(token >> at))
			if at+n == 64 {
				start, closer = base+at, special>>at != 0
				break
			}
			mask := uint64(1)<<(n&63) - 1
			token &^= mask << at
			if from := base + at; n <= 8 && special>>at&mask == 0 && from <= len(s)-8 {
				// The common case of w.token, in line.
				last := (load(s, from) | small) & (^uint64(0) >> ((64 - 8*n) & 63))
				hashes = append(hashes, mix(uint64(n)*k3^last, k1))
			} else {
				hashes, litter = w.token(hashes, s, from, from+n, special>>at&mask != 0, litter)
			}
		}
	}
	if start >= 0 {
		hashes, litter = w.token(hashes, s, start, len(s), closer, litter)
	}
	w.hashes = hashes
	return litter
}

// token appends the hashes of the words of s[start:end].
func (w *signer) token(hashes []uint64, s string, start, end int, closer bool, litter int) ([]uint64, int) {
	if closer {
		w.odd.fold(s[start:end])
		return append(hashes, w.odd.hashes...), litter + strings.Count(s[start:end], string(utf8.RuneError))
	}
	// As hashWord, on letters in any case.
	h := uint64(end-start) * k3
	for ; end-start > 8; start += 8 {
		h = mix(h^(load(s, start)|small), k0)
	}
	var last uint64
	if start+8 <= len(s) {
		last = load(s, start)
	} else {
		var b [8]byte
		copy(b[:], s[start:])
		last = loadBytes(b[:], 0)
	}
	last = (last | small) & (^uint64(0) >> (64 - 8*uint(end-start)))
	return append(hashes, mix(h^last, k1)), litter
}

const (
	ones  = 0x0101010101010101
	high  = 0x80 * ones
	small = 0x20 * ones // makes a letter lower case and leaves a digit
)

// plainBytes sets the high bit of each of eight bytes that is a letter or a
// digit, and clears all others.
func plainBytes(x uint64) uint64 {
	y := x &^ high
	letter := y | 0x20*ones
	return ((letter+(0x80-'a')*ones)&^(letter+(0x80-'z'-1)*ones) | (y+(0x80-'0')*ones)&^(y+(0x80-'9'-1)*ones)) & high &^ x
}

// oddBytes does so for apostrophes, bytes beyond ASCII and litter.
func oddBytes(x uint64) uint64 {
	y := x &^ high
	apostrophe := ^((y ^ '\''*ones) + 0x7F*ones)
	return (x | apostrophe | ((y | 0x20*ones) + (0x80-'z'-1)*ones)) & high
}

// litterBytes does so for litter.
func litterBytes(x uint64) uint64 {
	return ((x&^high | 0x20*ones) + (0x80-'z'-1)*ones) & high &^ x
}

// gather packs the high bits of eight bytes into one.
func gather(x uint64) uint64 { return (x >> 7) * 0x0102040810204080 >> 56 }

func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func loadBytes(b []byte, i int) uint64 {
	b = b[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
