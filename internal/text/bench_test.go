// SPDX-License-Identifier: Apache-2.0

package text

import (
	_ "embed"
	"strings"
	"testing"
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
