// SPDX-License-Identifier: Apache-2.0

package splits

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

// The leak audit asks whether the label can be told without understanding
// anything. In the published Long split most positives end with a stray line
// of hyphens and no negative does; a model that learns that scores well and has
// found no plot hole. Three classifiers see surface features alone and are
// cross-validated by source group, so that they cannot learn the stories: one
// sees character n-grams, one the n-grams of the last line, one lengths and
// white space. The strongest of the three is reported.
const (
	// LeakLimit is the AUC that the lower bound must not exceed.
	LeakLimit = 0.60
	// MinGroups is how many sources an audit needs to judge, not only report.
	MinGroups = 50

	leakFolds     = 5
	leakResamples = 1000
	leakDims      = 1 << 16
	leakEpochs    = 20
)

// Doc is a row as the leak audit sees it.
type Doc struct {
	ID       string
	Group    string
	Positive bool
	Story    string
}

// Audit runs the leak audit on the rows of one config. Why is empty, or says
// why the config is reported and not judged (made by rules, say).
func Audit(config string, docs []Doc, why string) schemas.LeakReport {
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b Doc) int { return strings.Compare(a.ID, b.ID) })
	groups, pos := groupIndex(docs)
	rep := schemas.LeakReport{Config: config, Groups: len(groups), Why: why, Features: []string{}}
	if pos == 0 || pos == len(docs) {
		rep.Why, rep.Passed = "one label only", true
		return rep
	}
	best := family{}
	for i, f := range leakFamilies {
		r := f.run(docs, groups)
		if i == 0 || r.lower > best.lower {
			best = r
		}
	}
	auc, lower, upper := round4(best.auc), round4(best.lower), round4(best.upper)
	rep.AUC, rep.Lower, rep.Upper = &auc, &lower, &upper
	rep.Features = best.features
	switch {
	case why != "":
	case len(groups) < MinGroups:
		rep.Why = fmt.Sprintf("%d sources; %d are needed to judge", len(groups), MinGroups)
	default:
		rep.Judged = true
	}
	rep.Passed = !rep.Judged || lower <= LeakLimit
	if !rep.Passed {
		rep.Why = fmt.Sprintf("the lower bound %.4f is above %.2f: %s give the label away", lower, LeakLimit, best.name)
	}
	return rep
}

func round4(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// groupIndex numbers groups in order of first appearance and counts positives.
func groupIndex(docs []Doc) (groups map[string]int, pos int) {
	groups = map[string]int{}
	for _, d := range docs {
		if _, ok := groups[d.Group]; !ok {
			groups[d.Group] = len(groups)
		}
		if d.Positive {
			pos++
		}
	}
	return groups, pos
}

type leakFamily struct {
	name    string
	extract func(story string, add func(name string, value float64))
	// scale standardises each feature; n-grams are scaled per text instead.
	scale bool
}

var leakFamilies = []leakFamily{
	{name: "character n-grams", extract: func(s string, add func(string, float64)) { ngrams(s, "", add) }},
	{name: "the first and last line", extract: edges},
	{name: "length and white space", extract: surface, scale: true},
}

// family is the outcome of one classifier.
type family struct {
	name              string
	auc, lower, upper float64
	features          []string
}

type sparse struct {
	at  []int32
	val []float64
}

// run extracts features, cross-validates by group and bounds the AUC.
func (f leakFamily) run(docs []Doc, groups map[string]int) family {
	names := make([]string, leakDims)
	x := make([]sparse, len(docs))
	for i, d := range docs {
		x[i] = f.features(d.Story, names)
	}
	if f.scale {
		standardise(x)
	}
	scores := make([]float64, len(docs))
	for fold := range leakFolds {
		var train, test []int
		for i, d := range docs {
			if foldOf(d.Group) == fold {
				test = append(test, i)
			} else {
				train = append(train, i)
			}
		}
		w := fit(x, docs, train)
		for _, i := range test {
			scores[i] = w.score(x[i])
		}
	}
	out := family{name: f.name}
	out.auc, out.lower, out.upper = boundedAUC(scores, docs, groups)
	all := make([]int, len(docs))
	for i := range all {
		all[i] = i
	}
	out.features = strongest(fit(x, docs, all), x, docs, names)
	return out
}

// features hashes a text's features; the longest weight vector is fixed.
func (f leakFamily) features(story string, names []string) sparse {
	acc := map[int32]float64{}
	f.extract(story, func(name string, v float64) {
		h := fnv.New32a()
		h.Write([]byte(name))
		at := int32(h.Sum32() % leakDims)
		acc[at] += v
		if names[at] == "" || name < names[at] {
			names[at] = name
		}
	})
	var s sparse
	for at := range acc {
		s.at = append(s.at, at)
	}
	slices.Sort(s.at)
	norm := 0.0
	for _, at := range s.at {
		v := acc[at]
		if !f.scale {
			v = math.Log1p(v)
			norm += v * v
		}
		s.val = append(s.val, v)
	}
	if norm > 0 {
		norm = math.Sqrt(norm)
		for i := range s.val {
			s.val[i] /= norm
		}
	}
	return s
}

// ngrams counts runs of 2 to 4 characters.
func ngrams(s, prefix string, add func(string, float64)) {
	r := []rune(s)
	for n := 2; n <= 4; n++ {
		for i := 0; i+n <= len(r); i++ {
			add(prefix+string(r[i:i+n]), 1)
		}
	}
}

// edges looks at the first and the last line alone.
func edges(s string, add func(string, float64)) {
	first, _, _ := strings.Cut(s, "\n")
	last := s[strings.LastIndexByte(s, '\n')+1:]
	clip := func(s string, fromEnd bool) string {
		r := []rune(s)
		if len(r) > 60 {
			if fromEnd {
				r = r[len(r)-60:]
			} else {
				r = r[:60]
			}
		}
		return string(r)
	}
	ngrams(clip(first, false), "first line: ", add)
	ngrams(clip(last, true), "last line: ", add)
	ngrams(clip(s, true)+"¶", "end: ", add)
}

// surface measures lengths, white space and kinds of characters.
func surface(s string, add func(string, float64)) {
	chars := float64(utf8.RuneCountInString(s))
	words := float64(len(strings.Fields(s)))
	var digits, upper, quotes, other float64
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r):
			upper++
		case strings.ContainsRune(`"'“”‘’`, r):
			quotes++
		case r > 0x7f:
			other++
		}
	}
	paragraphs := strings.Split(s, "\n\n")
	longest, lines := 0.0, float64(strings.Count(s, "\n"))
	for _, p := range paragraphs {
		longest = max(longest, float64(len(strings.Fields(p))))
	}
	last := s[strings.LastIndexByte(s, '\n')+1:]
	ending := 0.0
	if r, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".!?\"'”’", r) {
		ending = 1
	}
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"words", math.Log1p(words)}, {"characters a word", chars / max(words, 1)},
		{"paragraphs", math.Log1p(float64(len(paragraphs)))}, {"line breaks", math.Log1p(lines)},
		{"blank lines in a row", float64(strings.Count(s, "\n\n\n"))}, {"double blanks", math.Log1p(float64(strings.Count(s, "  ")))},
		{"longest paragraph", math.Log1p(longest)}, {"words in the last line", math.Log1p(float64(len(strings.Fields(last))))},
		{"ends in a stop or quote", ending}, {"digits", digits / chars}, {"capitals", upper / chars},
		{"quote marks", quotes / chars}, {"beyond ASCII", other / chars},
	} {
		add(f.name, f.v)
	}
}

// standardise gives each feature mean 0 and deviation 1 over all texts.
func standardise(x []sparse) {
	sum, sq, n := map[int32]float64{}, map[int32]float64{}, float64(len(x))
	for _, s := range x {
		for i, at := range s.at {
			sum[at] += s.val[i]
			sq[at] += s.val[i] * s.val[i]
		}
	}
	for _, s := range x {
		for i, at := range s.at {
			mean := sum[at] / n
			sd := math.Sqrt(max(sq[at]/n-mean*mean, 0))
			if sd < 1e-9 {
				s.val[i] = 0
				continue
			}
			s.val[i] = (s.val[i] - mean) / sd
		}
	}
}

func foldOf(group string) int {
	h := fnv.New32a()
	h.Write([]byte("fold|" + group))
	return int(h.Sum32() % leakFolds)
}

// weights of a logistic regression; the last one is the bias.
type weights []float64

func (w weights) score(s sparse) float64 {
	z := w[leakDims]
	for i, at := range s.at {
		z += w[at] * s.val[i]
	}
	return z
}

// fit trains a logistic regression by AdaGrad with weight decay. The order of
// updates is fixed, so the result is the same on every run.
func fit(x []sparse, docs []Doc, train []int) weights {
	w, g := make(weights, leakDims+1), make([]float64, leakDims+1)
	r := rand.New(rand.NewPCG(1, 2))
	order := slices.Clone(train)
	const rate, decay = 0.5, 1e-4
	for range leakEpochs {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			y := 0.0
			if docs[i].Positive {
				y = 1
			}
			e := 1/(1+math.Exp(-w.score(x[i]))) - y
			step := func(at int32, v float64) {
				d := e*v + decay*w[at]
				g[at] += d * d
				w[at] -= rate * d / (math.Sqrt(g[at]) + 1e-8)
			}
			for k, at := range x[i].at {
				step(at, x[i].val[k])
			}
			step(leakDims, 1)
		}
	}
	return w
}

// strongest names the features that move the score most between the classes.
func strongest(w weights, x []sparse, docs []Doc, names []string) []string {
	diff := map[int32]float64{}
	var n [2]float64
	for i := range docs {
		n[class(docs[i])]++
	}
	for i, s := range x {
		c := class(docs[i])
		sign := 1.0
		if c == 0 {
			sign = -1
		}
		for k, at := range s.at {
			diff[at] += sign * s.val[k] / n[c]
		}
	}
	type feature struct {
		at int32
		v  float64
	}
	var list []feature
	for at, d := range diff {
		if v := w[at] * d; v > 0 {
			list = append(list, feature{at, v})
		}
	}
	slices.SortFunc(list, func(a, b feature) int { return cmp.Or(cmp.Compare(b.v, a.v), cmp.Compare(a.at, b.at)) })
	var out []string
	for _, f := range list[:min(5, len(list))] {
		out = append(out, fmt.Sprintf("%q", names[f.at]))
	}
	return out
}

func class(d Doc) int {
	if d.Positive {
		return 1
	}
	return 0
}

// boundedAUC is the area under the curve with 95 % bounds by a bootstrap over
// groups.
func boundedAUC(scores []float64, docs []Doc, groups map[string]int) (auc, lower, upper float64) {
	order := make([]int, len(docs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	weight := make([]float64, len(groups))
	for i := range weight {
		weight[i] = 1
	}
	area := func() float64 { // weighted Mann-Whitney, ties count half
		var below, wins, pos, neg float64
		for i := 0; i < len(order); {
			var p, n float64
			j := i
			for ; j < len(order) && scores[order[j]] == scores[order[i]]; j++ {
				v := weight[groups[docs[order[j]].Group]]
				if docs[order[j]].Positive {
					p += v
				} else {
					n += v
				}
			}
			wins += p * (below + n/2)
			below += n
			pos, neg = pos+p, neg+n
			i = j
		}
		if pos == 0 || neg == 0 {
			return math.NaN()
		}
		return wins / (pos * neg)
	}
	auc = area()
	r := rand.New(rand.NewPCG(3, 4))
	var draws []float64
	for range leakResamples {
		clear(weight)
		for range groups {
			weight[r.IntN(len(weight))]++
		}
		if a := area(); !math.IsNaN(a) {
			draws = append(draws, a)
		}
	}
	if len(draws) == 0 {
		return auc, 0, 1
	}
	slices.Sort(draws)
	return auc, draws[int(0.025*float64(len(draws)))], draws[min(int(0.975*float64(len(draws))), len(draws)-1)]
}
