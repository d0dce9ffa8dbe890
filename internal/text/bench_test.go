// SPDX-License-Identifier: Apache-2.0

package text

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// tale is a story written for these tests, with dialogue of several styles.
//
//go:embed testdata/tale.txt
var tale string

// bulk is the tale many times over: what a book's length does to speed.
var bulk = strings.Repeat(tale+"\n\n", 1<<20/len(tale))

func BenchmarkSentences(b *testing.B) {
	b.SetBytes(int64(len(bulk)))
	b.ReportAllocs()
	for b.Loop() {
		Sentences(bulk)
	}
}

// BenchmarkSentencesUAX29 is the yardstick: the standard's boundaries alone, on
// text whose wrapped lines are joined already.
func BenchmarkSentencesUAX29(b *testing.B) {
	joined := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(bulk, "\n\n", "\x00"), "\n", " "), "\x00", "\n\n")
	b.SetBytes(int64(len(joined)))
	for b.Loop() {
		for it := sentences.FromString(joined); it.Next(); {
			_ = it.Value()
		}
	}
}

func BenchmarkWords(b *testing.B) {
	b.SetBytes(int64(len(bulk)))
	for b.Loop() {
		Words(bulk)
	}
}

func BenchmarkFreeze(b *testing.B) {
	crlf := strings.ReplaceAll(bulk, "\n", "\r\n")
	b.SetBytes(int64(len(crlf)))
	for b.Loop() {
		Freeze(crlf)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(bulk)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Decode(data, "")
	}
}

func BenchmarkIndex(b *testing.B) {
	b.SetBytes(int64(len(bulk)))
	for b.Loop() {
		NewIndex(bulk)
	}
}
