// SPDX-License-Identifier: Apache-2.0

package all

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retcon-bench/retcon/internal/fetch"
)

// Download is one upstream file and where it goes below the corpus's folder.
type Download struct {
	URL  string
	Path string // slash path
}

const (
	longWriter   = "https://raw.githubusercontent.com/THUDM/LongWriter/main/evaluation/"
	writingBench = "https://raw.githubusercontent.com/X-PLUG/WritingBench/main/benchmark_query/"
	tellMe       = "https://storage.googleapis.com/tell-me-a-story/tell-me-a-story-"
	tellMeKeys   = "https://raw.githubusercontent.com/google-deepmind/tell_me_a_story/main/"
)

// downloads are the addresses that the upstreams give for whole corpora.
// Gutenberg comes from a mirror, book by book: see gutenberg.Fetch. What is not
// here cannot be had without a person: STORIUM is sent on request, and the
// names of LongLaMP's shards are known to the hub alone.
var downloads = map[string][]Download{
	"longbench": {{"https://huggingface.co/datasets/THUDM/LongBench/resolve/main/data.zip", "data.zip"}},
	"longbench_write": {
		{longWriter + "longbench_write.jsonl", "longbench_write.jsonl"},
		{longWriter + "longbench_write_en.jsonl", "longbench_write_en.jsonl"},
		{longWriter + "longwrite_ruler.jsonl", "longwrite_ruler.jsonl"},
	},
	"writingbench":   {{writingBench + "benchmark_all.jsonl", "benchmark_query/benchmark_all.jsonl"}},
	"writingprompts": {{"https://dl.fbaipublicfiles.com/fairseq/data/writingPrompts.tar.gz", "writingPrompts.tar.gz"}},
	"wikiplots":      {{"https://www.dropbox.com/s/24pa44w7u7wvtma/plots.zip?dl=1", "plots.zip"}},
	"tellmeastory": {
		{tellMe + "train_encrypted.jsonl", "tell-me-a-story-train_encrypted.jsonl"},
		{tellMe + "validation_encrypted.jsonl", "tell-me-a-story-validation_encrypted.jsonl"},
		{tellMe + "test_encrypted.jsonl", "tell-me-a-story-test_encrypted.jsonl"},
		{tellMeKeys + "skey.key", "skey.key"},
		{tellMeKeys + "private_key.pem", "private_key.pem"},
	},
}

// Downloads lists the files of a corpus that can be had at a fixed address; for
// a corpus that has none it says where a person gets it.
func Downloads(name string) ([]Download, error) {
	c, ok := Find(name)
	if !ok {
		return nil, fmt.Errorf("no corpus is called %q (known: %s)", name, strings.Join(Names(), ", "))
	}
	if d := downloads[name]; len(d) > 0 {
		return slices.Clone(d), nil
	}
	return nil, fmt.Errorf("corpus %s has no fixed address; get it from: %s", name, c.Where)
}

// Fetch downloads files into dir, one after the other. A file that is there and
// still the server's is not asked for again; one that broke off goes on where it
// stopped. Done is called after each; it may be nil.
func Fetch(ctx context.Context, client *fetch.Client, files []Download, dir string, done func(Download, fetch.Result)) error {
	for _, f := range files {
		r, err := client.Get(ctx, f.URL, filepath.Join(dir, filepath.FromSlash(f.Path)), fetch.GetOptions{})
		if err != nil {
			return fmt.Errorf("download %s: %w", f.Path, err)
		}
		if done != nil {
			done(f, r)
		}
	}
	return nil
}
