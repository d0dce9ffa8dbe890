// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

// Token is one token of a generated text, with what the model gave of its
// probability.
type Token struct {
	// Bytes is the token's text. It may be part of a character: a tokenizer
	// that works on bytes splits characters.
	Bytes []byte
	// Opaque: the answer gave no bytes and its text holds a replacement
	// character, so that which characters the token makes is not known exactly.
	Opaque bool
	// LogProb is the natural logarithm of the chosen token's probability; NaN
	// where the answer has none.
	LogProb float64
	// Top are the natural logarithms of the k most likely tokens, as the
	// answer lists them. Empty where it lists none.
	Top []float64
}

// unlikely is what OpenAI's API writes for a token that is not among the most
// likely: a mark, not a logarithm.
const unlikely = -9999

// ReadLogProbs reads the log-probabilities of story. Three shapes are read:
//
//   - ours, [schemas.Generated.LogProbs], which gives places instead of texts;
//   - OpenAI's chat shape: {"content": [{"token", "logprob", "bytes",
//     "top_logprobs": [{"token", "logprob"}]}]}, or the list alone, or either
//     under "logprobs";
//   - the shape of the older completions API: {"tokens", "token_logprobs",
//     "top_logprobs": [{token: logprob}]}.
//
// Natural logarithms everywhere. null, and -9999, which OpenAI's API writes for
// "not among the most likely", are unknown, not numbers. Nothing is not an
// error: no tokens.
func ReadLogProbs(raw json.RawMessage, story string) ([]Token, error) {
	t := bytes.TrimSpace(raw)
	if len(t) == 0 || string(t) == "null" {
		return nil, nil
	}
	if t[0] == '[' {
		return contentTokens(t)
	}
	var f struct {
		Format   *int                `json:"format"`
		LogProbs json.RawMessage     `json:"logprobs"`
		Content  json.RawMessage     `json:"content"`
		Tokens   []string            `json:"tokens"`
		Chosen   []*float64          `json:"token_logprobs"`
		Top      []map[string]number `json:"top_logprobs"`
	}
	if err := json.Unmarshal(t, &f); err != nil {
		return nil, fmt.Errorf("log-probabilities: %w", schemas.JSONFault(err))
	}
	switch {
	case f.Format != nil:
		return ourTokens(t, story)
	case f.Content != nil:
		return contentTokens(f.Content)
	case f.Tokens == nil:
		if in := bytes.TrimSpace(f.LogProbs); len(in) > 0 && (in[0] == '{' || in[0] == '[') {
			return ReadLogProbs(in, story)
		}
		return nil, errors.New(`log-probabilities: none of "format", "content" and "tokens" is there`)
	case len(f.Chosen) != len(f.Tokens) || f.Top != nil && len(f.Top) != len(f.Tokens):
		return nil, fmt.Errorf("log-probabilities: %d tokens, %d token_logprobs, %d top_logprobs", len(f.Tokens), len(f.Chosen), len(f.Top))
	}
	out := make([]Token, len(f.Tokens))
	for i := range out {
		tok := &out[i]
		tok.fromText(f.Tokens[i])
		var err error
		if tok.LogProb, err = logProb(f.Chosen[i]); err != nil {
			return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
		}
		if i < len(f.Top) {
			for _, p := range f.Top[i] {
				v := float64(p)
				if err := tok.addTop(&v); err != nil {
					return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
				}
			}
			sort.Float64s(tok.Top) // a map has no order
		}
	}
	return out, nil
}

func ourTokens(raw json.RawMessage, story string) ([]Token, error) {
	toks, _, err := schemas.DecodeLogProbs(raw, len(story))
	if err != nil {
		return nil, err
	}
	out := make([]Token, len(toks))
	for i, t := range toks {
		out[i].Bytes = []byte(story[t.Start:t.End])
		if out[i].LogProb, err = logProb(&t.LogProb); err != nil {
			return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
		}
		for k := range t.Top {
			if err := out[i].addTop(&t.Top[k]); err != nil {
				return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
			}
		}
	}
	return out, nil
}

// number is a float of which null is unknown.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = unlikely
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

func contentTokens(raw json.RawMessage) ([]Token, error) {
	var list []struct {
		Token   string   `json:"token"`
		LogProb *float64 `json:"logprob"`
		Bytes   *[]int   `json:"bytes"`
		Top     []struct {
			LogProb *float64 `json:"logprob"`
		} `json:"top_logprobs"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("log-probabilities: content: %w", schemas.JSONFault(err))
	}
	out := make([]Token, len(list))
	for i, l := range list {
		tok := &out[i]
		if l.Bytes != nil {
			tok.Bytes = make([]byte, len(*l.Bytes))
			for k, b := range *l.Bytes {
				if b < 0 || b > 255 {
					return nil, fmt.Errorf("log-probabilities: token %d: %d is no byte", i, b)
				}
				tok.Bytes[k] = byte(b)
			}
		} else {
			tok.fromText(l.Token)
		}
		var err error
		if tok.LogProb, err = logProb(l.LogProb); err != nil {
			return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
		}
		for _, p := range l.Top {
			if err := tok.addTop(p.LogProb); err != nil {
				return nil, fmt.Errorf("log-probabilities: token %d: %w", i, err)
			}
		}
	}
	return out, nil
}

func (t *Token) fromText(s string) {
	t.Bytes = []byte(s)
	t.Opaque = strings.ContainsRune(s, utf8.RuneError)
}

func (t *Token) addTop(p *float64) error {
	v, err := logProb(p)
	if err == nil && !math.IsNaN(v) {
		t.Top = append(t.Top, v)
	}
	return err
}

// logProb checks a logarithm of a probability. A little above 0 is rounding.
func logProb(p *float64) (float64, error) {
	switch {
	case p == nil || *p <= unlikely:
		return math.NaN(), nil
	case *p > 1e-3:
		return 0, fmt.Errorf("%g is no logarithm of a probability", *p)
	}
	return min(*p, 0), nil
}

// Entropy is the Shannon entropy in bits over the listed tokens: of their
// probabilities as they are (raw; they sum to less than 1, as the paper's
// formula takes them), and divided by their sum (renormalised over the top k).
// Undefined without a list.
func (t *Token) Entropy() (raw, renormalised float64) {
	if len(t.Top) == 0 {
		return math.NaN(), math.NaN()
	}
	sum := 0.0
	for _, lp := range t.Top {
		p := math.Exp(lp)
		sum += p
		if p > 0 {
			raw -= p * lp / math.Ln2
		}
	}
	// -sum (p/s) log2(p/s) = (raw + s log2 s) / s
	return raw, ratio(raw+sum*math.Log2(sum), sum)
}

// TokenSpans returns for each token the code points of story that it makes,
// half-open; a token that splits a character has all of that character. A
// token that makes none of them (before the story starts, after its end, or
// removed when the answer was cleaned) has the span {-1, -1}.
//
// Tokens spell the answer as it came; the story may be that answer cleaned:
// without white space at the ends, with other line ends. Bytes are compared
// first; where they differ, characters but white space and controls, and a
// token of white space gets the white space between its neighbours. A
// replacement character of a token without bytes stands for a part of a
// character. Tokens that do not spell the story are an error.
func TokenSpans(story string, tokens []Token) ([][2]int, error) {
	var all []byte
	opaque := false
	for i := range tokens {
		all = append(all, tokens[i].Bytes...)
		opaque = opaque || tokens[i].Opaque
	}
	if at := bytes.Index(all, []byte(story)); at >= 0 && story != "" {
		return spansByByte(story, tokens, at), nil
	}
	return spansByRune(story, tokens, all)
}

func spansByByte(story string, tokens []Token, at int) [][2]int {
	out := make([][2]int, len(tokens))
	b, points := 0, 0 // place in story; code points that start before b
	next := -at
	for i := range tokens {
		from, to := next, next+len(tokens[i].Bytes)
		next = to
		from, to = max(from, 0), min(to, len(story))
		if from >= to {
			out[i] = [2]int{-1, -1}
			continue
		}
		for ; b < from; b++ {
			if utf8.RuneStart(story[b]) {
				points++
			}
		}
		start := points
		if !utf8.RuneStart(story[from]) {
			start-- // the character began in an earlier token
		}
		for ; b < to; b++ {
			if utf8.RuneStart(story[b]) {
				points++
			}
		}
		out[i] = [2]int{start, points}
	}
	return out
}

// skipped are characters in which an answer and its cleaned form may differ.
func skippedRune(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\ufeff' }

func spansByRune(story string, tokens []Token, all []byte) ([][2]int, error) {
	type mark struct {
		r  rune
		at int // code point of the story, or byte of all
	}
	var want, have []mark
	n := 0
	for _, r := range story {
		if !skippedRune(r) {
			want = append(want, mark{r, n})
		}
		n++
	}
	for i := 0; i < len(all); {
		r, size := utf8.DecodeRune(all[i:])
		if !skippedRune(r) {
			have = append(have, mark{r, i})
		}
		i += size
	}
	if len(want) == 0 {
		return nil, errors.New("tokens: the story is empty")
	}
	// pairs[k] is the story's code points, from and to, of have[start+k].
	var pairs [][2]int
	start := -1
	// match pairs have from s on with want; a run of m replacement characters
	// stands for 1 to m characters, the fewest with which the rest goes on.
	match := func(s int) bool {
		pairs = pairs[:0]
		i := 0
		for j := s; i < len(want); {
			if j == len(have) {
				return false
			}
			if have[j].r == want[i].r {
				pairs = append(pairs, [2]int{want[i].at, want[i].at + 1})
				i, j = i+1, j+1
				continue
			}
			if have[j].r != utf8.RuneError {
				return false
			}
			m := 1
			for j+m < len(have) && have[j+m].r == utf8.RuneError {
				m++
			}
			goesOn := func(c int) bool {
				for k := 0; k < 8 && i+c+k < len(want) && j+m+k < len(have) && have[j+m+k].r != utf8.RuneError; k++ {
					if have[j+m+k].r != want[i+c+k].r {
						return false
					}
				}
				return true
			}
			c := 1
			for c <= m && i+c <= len(want) && !goesOn(c) {
				c++
			}
			if c > m || i+c > len(want) {
				return false
			}
			for range m {
				pairs = append(pairs, [2]int{want[i].at, want[i+c-1].at + 1})
			}
			i, j = i+c, j+m
		}
		return true
	}
	for s := 0; s < len(have) && s <= 4096; s++ {
		if (have[s].r == want[0].r || have[s].r == utf8.RuneError) && match(s) {
			start = s
			break
		}
	}
	if start < 0 {
		return nil, errors.New("tokens: they do not spell the story; was it changed after it was generated?")
	}
	out := make([][2]int, len(tokens))
	k, from := 0, 0
	end := start + len(pairs)
	for i := range tokens {
		to := from + len(tokens[i].Bytes)
		out[i] = [2]int{-1, -1}
		// A character belongs to all tokens that have one of its bytes.
		for k > 0 && have[k-1].at+runeLen(all, have[k-1].at) > from {
			k--
		}
		for ; k < len(have) && have[k].at < to; k++ {
			if k < start || k >= end || to <= from {
				continue
			}
			p := pairs[k-start]
			if out[i][0] < 0 {
				out[i] = p
			} else {
				out[i][1] = max(out[i][1], p[1])
			}
		}
		from = to
	}
	// White space: what lies between the neighbours, if anything does.
	before := -1
	for i := range out {
		if out[i][0] >= 0 {
			before = out[i][1]
			continue
		}
		if before < 0 || len(tokens[i].Bytes) == 0 {
			continue
		}
		for j := i + 1; j < len(out); j++ {
			if out[j][0] >= 0 {
				if out[j][0] > before {
					out[i] = [2]int{before, out[j][0]}
				}
				break
			}
		}
	}
	return out, nil
}

func runeLen(b []byte, at int) int {
	_, n := utf8.DecodeRune(b[at:])
	return n
}

// Segments of a story whose tokens are compared with the whole. Which of them
// the paper calls an error segment it does not say.
const (
	SegmentBoth   = iota // the passages of both sides
	SegmentFact          // the earlier passages
	SegmentContra        // the later passages, where the contradiction happens
	segmentSets
)

var segmentNames = [segmentSets]string{"both_passages", "earlier_passage", "later_passage"}

// Measures of tokens.
const (
	tokRaw     = iota // entropy, raw
	tokRenorm         // entropy, renormalised over the top k
	tokProb           // mean probability
	tokLog            // perplexity as exp(-mean log p)
	tokInverse        // perplexity as mean(1/p)
	tokMeasures
)

var tokenMeasures = [tokMeasures]struct{ name, title string }{
	{"entropy_raw", "entropy (bits, raw over top k)"},
	{"entropy_renormalised", "entropy (bits, renormalised over top k)"},
	{"probability", "mean probability"},
	{"perplexity_exp_mean", "perplexity, exp(-mean log p)"},
	{"perplexity_mean_inverse", "perplexity, mean of 1/p"},
}

// tokenSums are sums over tokens; a measure a token has no value for does not
// count it. tokLog holds the sum of -log p.
type tokenSums struct {
	N   int // tokens
	Sum [tokMeasures]float64
	Has [tokMeasures]int
}

func (s *tokenSums) add(t *Token) {
	s.N++
	put := func(m int, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.Sum[m] += v
			s.Has[m]++
		}
	}
	raw, renorm := t.Entropy()
	put(tokRaw, raw)
	put(tokRenorm, renorm)
	if !math.IsNaN(t.LogProb) {
		put(tokProb, math.Exp(t.LogProb))
		put(tokLog, -t.LogProb)
		put(tokInverse, math.Exp(-t.LogProb))
	}
}

// value is the figure of a text of which s are the sums.
func (s *tokenSums) value(m int) float64 {
	v := ratio(s.Sum[m], float64(s.Has[m]))
	if m == tokLog {
		v = math.Exp(v)
	}
	return v
}

// TokenRecord is a story's tokens, reduced to sums.
type TokenRecord struct {
	Err     string // why there is nothing; "" if there is
	Outside int    // tokens that make no character of the story
	whole   tokenSums
	// In segments each token counts once, however many passages it is in.
	segments [segmentSets]tokenSums
	// each are the sums over passages of a passage's own figure.
	each [segmentSets]struct {
		sum [tokMeasures]float64
		n   [tokMeasures]int
	}
	passages [segmentSets]int
}

// TokensOf measures the tokens of a story. passages are the anchored spans of
// its findings, in code points, half-open: the earlier passages and the later
// ones. A token belongs to a passage when one of the characters it makes is in
// it.
func TokensOf(story string, tokens []Token, earlier, later [][2]int) (TokenRecord, error) {
	var rec TokenRecord
	spans, err := TokenSpans(story, tokens)
	if err != nil {
		return rec, err
	}
	type place struct{ from, to, token int }
	var in []place
	for i, s := range spans {
		if s[0] < 0 {
			rec.Outside++
			continue
		}
		rec.whole.add(&tokens[i])
		in = append(in, place{s[0], s[1], i})
	}
	// Starts and ends ascend, so the tokens of a passage are neighbours.
	within := func(p [2]int) []place {
		i := sort.Search(len(in), func(i int) bool { return in[i].to > p[0] })
		j := sort.Search(len(in), func(j int) bool { return in[j].from >= p[1] })
		if i >= j {
			return nil
		}
		return in[i:j]
	}
	for set, lists := range [segmentSets][][][2]int{SegmentBoth: {earlier, later}, SegmentFact: {earlier}, SegmentContra: {later}} {
		member := make(map[int]bool)
		seen := make(map[[2]int]bool)
		for _, list := range lists {
			for _, p := range list {
				if seen[p] { // the same passage of several findings
					continue
				}
				seen[p] = true
				var s tokenSums
				for _, t := range within(p) {
					s.add(&tokens[t.token])
					member[t.token] = true
				}
				if s.N == 0 {
					continue
				}
				rec.passages[set]++
				for m := range s.Sum {
					if v := s.value(m); !math.IsNaN(v) {
						rec.each[set].sum[m] += v
						rec.each[set].n[m]++
					}
				}
			}
		}
		for _, t := range in { // in order: sums of floats depend on it
			if member[t.token] {
				rec.segments[set].add(&tokens[t.token])
			}
		}
	}
	return rec, nil
}

// TokenRow compares the tokens of the whole text with those of error segments,
// by one measure (a row of the paper's table B3).
type TokenRow struct {
	Measure string `json:"measure"`
	Title   string `json:"title"`
	// Pooled is over all tokens of all stories; of error segments, each token
	// once.
	Whole    Score `json:"whole_text"`
	Segments Score `json:"error_segments"`
	// Difference is error segments over whole text, less 1.
	Difference Score `json:"relative_difference"`
	// Means of texts: of stories' own figures, and of passages' own figures.
	WholeMean    Number `json:"whole_text_mean_of_stories"`
	SegmentsMean Number `json:"error_segments_mean_of_passages"`
}

// TokenTable is tables 4 and B3 for one set of segments.
type TokenTable struct {
	Segments string     `json:"segments"`
	Passages int        `json:"passages"`
	Rows     []TokenRow `json:"rows"`
}

// TokenAnalysis is token uncertainty of a run: coverage, then a table for each
// set of segments.
type TokenAnalysis struct {
	Stories   int          `json:"stories"` // with tokens that spell them
	Without   int          `json:"stories_without_logprobs"`
	Unaligned int          `json:"stories_whose_tokens_do_not_fit"`
	Tokens    int          `json:"tokens"`
	Outside   int          `json:"tokens_outside_the_story"`
	Tables    []TokenTable `json:"tables"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// TokenUncertainty analyses the records that carry tokens. Intervals are drawn
// over stories; r nil leaves them out.
func TokenUncertainty(records []CheckRecord, r *Resampling) TokenAnalysis {
	var a TokenAnalysis
	var have []*TokenRecord
	for i := range records {
		switch t := records[i].Tokens; {
		case !records[i].HasText:
		case t == nil:
			a.Without++
		case t.Err != "":
			a.Unaligned++
		default:
			have = append(have, t)
			a.Tokens += t.whole.N
			a.Outside += t.Outside
		}
	}
	a.Stories = len(have)
	if a.Unaligned > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%d stories are left out: their tokens do not spell them, or cannot be read", a.Unaligned))
	}
	if a.Stories == 0 {
		return a
	}
	// One row a story: whole sums and counts, then those of each set.
	const width = 2 * tokMeasures
	units := make([][]float64, len(have))
	for i, t := range have {
		u := make([]float64, width*(1+segmentSets))
		for s, sums := range append([]tokenSums{t.whole}, t.segments[:]...) {
			for m := range tokMeasures {
				u[s*width+2*m], u[s*width+2*m+1] = sums.Sum[m], float64(sums.Has[m])
			}
		}
		units[i] = u
	}
	figure := func(set, m int) func([]float64) float64 { // set 0 is the whole
		return func(s []float64) float64 {
			v := ratio(s[set*width+2*m], s[set*width+2*m+1])
			if m == tokLog {
				v = math.Exp(v)
			}
			return v
		}
	}
	total := make([]float64, width*(1+segmentSets))
	for _, u := range units {
		for c, v := range u {
			total[c] += v
		}
	}
	var figures []func([]float64) float64
	var put []func(*Interval)
	score := func(s *Score, name string, n int, f func([]float64) float64) {
		*s = Score{Metric: name, Value: f(total), N: n}
		figures = append(figures, f)
		put = append(put, func(iv *Interval) { s.Interval = iv })
	}
	for set := range segmentSets {
		t := TokenTable{Segments: segmentNames[set], Rows: make([]TokenRow, tokMeasures)}
		for _, rec := range have {
			t.Passages += rec.passages[set]
		}
		for m := range t.Rows {
			row := &t.Rows[m]
			row.Measure, row.Title = tokenMeasures[m].name, tokenMeasures[m].title
			whole, part := figure(0, m), figure(1+set, m)
			score(&row.Whole, row.Measure, int(total[2*m+1]), whole)
			score(&row.Segments, row.Measure, int(total[(1+set)*width+2*m+1]), part)
			score(&row.Difference, row.Measure, row.Segments.N, func(s []float64) float64 { return ratio(part(s), whole(s)) - 1 })
			sum, n, psum, pn := 0.0, 0, 0.0, 0
			for _, rec := range have {
				if v := rec.whole.value(m); !math.IsNaN(v) {
					sum += v
					n++
				}
				psum += rec.each[set].sum[m]
				pn += rec.each[set].n[m]
			}
			row.WholeMean, row.SegmentsMean = Number(ratio(sum, float64(n))), Number(ratio(psum, float64(pn)))
		}
		a.Tables = append(a.Tables, t)
	}
	if r != nil {
		for i, iv := range r.bySum("bootstrap by story", units, figures) {
			put[i](iv)
		}
	}
	return a
}
