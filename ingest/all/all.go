// SPDX-License-Identifier: Apache-2.0

// Package all lists the corpora. A new corpus is a package beside this one and
// a line here.
package all

import (
	"github.com/retcon-bench/retcon/ingest"
	"github.com/retcon-bench/retcon/ingest/fairytaleqa"
	"github.com/retcon-bench/retcon/ingest/gutenberg"
	"github.com/retcon-bench/retcon/ingest/longbench"
	"github.com/retcon-bench/retcon/ingest/longbenchwrite"
	"github.com/retcon-bench/retcon/ingest/longlamp"
	"github.com/retcon-bench/retcon/ingest/tales"
	"github.com/retcon-bench/retcon/ingest/tellmeastory"
	"github.com/retcon-bench/retcon/ingest/wikiplots"
	"github.com/retcon-bench/retcon/ingest/writingbench"
	"github.com/retcon-bench/retcon/ingest/writingprompts"
)

// Corpora are all that recipes can name, in the order in which they are listed.
var Corpora = []ingest.Corpus{
	tales.Corpus,
	gutenberg.Corpus,
	fairytaleqa.Corpus,
	longbench.Corpus,
	longbenchwrite.Corpus,
	longlamp.Corpus,
	tellmeastory.Corpus,
	wikiplots.Corpus,
	writingbench.Corpus,
	writingprompts.Corpus,
}

// Find returns the corpus called name.
func Find(name string) (ingest.Corpus, bool) {
	for _, c := range Corpora {
		if c.Name == name {
			return c, true
		}
	}
	return ingest.Corpus{}, false
}

// Names lists the names of Corpora.
func Names() []string {
	names := make([]string, len(Corpora))
	for i, c := range Corpora {
		names[i] = c.Name
	}
	return names
}
