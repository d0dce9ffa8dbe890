// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The negative set: sentences of the shared stories, each damaged in one way
// that changes what it says, mechanically and without the matcher's own tables
// of numbers and negations.

var (
	reNumber = regexp.MustCompile(`(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|thousand|million|\d[\d,.:]*\d|\d)\b`)
	reNot    = regexp.MustCompile(`(?i)\b(?:not|never|no|none|nothing|nobody|without|cannot)\b ?|n't\b|n’t\b`)
	reVerb   = regexp.MustCompile(`\b(?:was|were|is|are|had|has|could|would|should|did|will|can)\b`)
	reName   = regexp.MustCompile(`[a-z,;] ([A-Z][a-z]{3,})\b`)
	rePlain  = regexp.MustCompile(`[\p{L}\p{N}']+`)
)

var values = map[string]string{"two": "2", "three": "3", "six": "6", "seven": "7", "nine": "9", "eleven": "11", "forty": "40"}

var opposites = [][2]string{
	{"open", "closed"}, {"hot", "cold"}, {"first", "last"}, {"old", "new"}, {"black", "white"}, {"left", "right"},
	{"before", "after"}, {"inside", "outside"}, {"always", "rarely"}, {"everything", "little"}, {"small", "large"},
	{"light", "dark"}, {"up", "down"}, {"dead", "alive"}, {"mother", "father"}, {"day", "night"}, {"slowly", "quickly"},
	{"more", "less"}, {"possible", "impossible"}, {"known", "unknown"}, {"husband", "wife"}, {"morning", "evening"},
}

func plainWords(s string) string {
	s = strings.ToLower(strings.NewReplacer("’", "'", "‘", "'").Replace(s))
	var words []string
	for _, w := range rePlain.FindAllString(s, -1) {
		if w = strings.Trim(w, "'"); w != "" {
			words = append(words, w)
		}
	}
	return " " + strings.Join(words, " ") + " "
}

// damages returns each kind's damaged forms of a sentence.
func damages(rng *rand.Rand, s, otherName string) map[string][]string {
	out := map[string][]string{}
	add := func(kind, t string) {
		if t = strings.Join(strings.Fields(t), " "); t != strings.Join(strings.Fields(s), " ") {
			out[kind] = append(out[kind], t)
		}
	}
	numbers := []string{"two", "three", "seven", "nine", "eleven", "forty", "6", "17", "2,400"}
	for _, m := range reNumber.FindAllStringIndex(s, -1) {
		n := numbers[rng.IntN(len(numbers))]
		if old := strings.ToLower(s[m[0]:m[1]]); old == n || values[old] == n || values[n] == old {
			n = "eighteen"
		}
		add("number changed", s[:m[0]]+n+s[m[1]:])
		add("number dropped", s[:m[0]]+s[m[1]:])
		add("number made vague", s[:m[0]]+"several"+s[m[1]:])
	}
	spaces := regexp.MustCompile(` `).FindAllStringIndex(s, -1)
	if len(spaces) > 2 {
		at := spaces[1+rng.IntN(len(spaces)-2)][0]
		add("number added", s[:at]+" "+numbers[rng.IntN(6)]+s[at:])
	}
	for _, m := range reNot.FindAllStringIndex(s, -1) {
		add("negation dropped", s[:m[0]]+s[m[1]:])
	}
	for _, m := range reVerb.FindAllStringIndex(s, -1) {
		add("negation added", s[:m[1]]+[]string{" not", " never", "n't"}[rng.IntN(3)]+s[m[1]:])
		break
	}
	for _, m := range reName.FindAllStringSubmatchIndex(s, 1) {
		if s[m[2]:m[3]] != otherName && otherName != "" {
			add("name swapped", s[:m[2]]+otherName+s[m[3]:])
		}
	}
	for _, p := range opposites {
		for i := range 2 {
			re := regexp.MustCompile(`\b` + p[i] + `\b`)
			if m := re.FindStringIndex(s); m != nil {
				add("opposite", s[:m[0]]+p[1-i]+s[m[1]:])
			}
		}
	}
	w := strings.Fields(s)
	if k := len(w) / 4; k >= 3 {
		add("middle dropped", strings.Join(w[:len(w)/2-k/2], " ")+" "+strings.Join(w[len(w)/2+k-k/2:], " "))
		add("middle elided, marked", strings.Join(w[:len(w)/2-k/2], " ")+" ... "+strings.Join(w[len(w)/2+k-k/2:], " "))
	}
	add("other word order", strings.Join(append(append([]string{}, w[len(w)/2:]...), w[:len(w)/2]...), " "))
	return out
}

// elsewhere reports pieces that are far apart, which cannot come from the
// sentence that was damaged.
func elsewhere(m Match) bool {
	for i := range m.Ranges {
		if i > 0 && (m.Ranges[i].Start < m.Ranges[i-1].End || m.Ranges[i].Start > m.Ranges[i-1].End+300) {
			return true
		}
	}
	return false
}

// TestNegativeSet damages sentences of the shared stories. A changed number or
// negation must never be found; the other kinds are counted.
func TestNegativeSet(t *testing.T) {
	d := oracle(t)
	seed := uint64(7)
	if v := os.Getenv("RETCON_NEGATIVE_SEED"); v != "" {
		seed, _ = strconv.ParseUint(v, 10, 64)
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	counts := map[string]map[Class]int{}
	wrong, oneRange := map[string]int{}, 0
	count := func(kind string, c Class) {
		if counts[kind] == nil {
			counts[kind] = map[Class]int{}
		}
		counts[kind][c]++
	}
	for si, st := range d.stories {
		story := st.anch.Story()
		var names []string
		for _, m := range reName.FindAllStringSubmatch(story, 40) {
			names = append(names, m[1])
		}
		other := d.stories[(si+7)%len(d.stories)]
		sentences := Sentences(story)
		for range 25 {
			r := sentences[rng.IntN(len(sentences))]
			s := strings.Join(strings.Fields(r.Of(story)), " ")
			if n := len(strings.Fields(s)); n < 7 || n > 45 {
				continue
			}
			name := ""
			if len(names) > 0 {
				name = names[rng.IntN(len(names))]
			}
			for kind, list := range damages(rng, s, name) {
				for _, q := range list {
					if strings.Contains(st.words, plainWords(q)) || strings.Contains(story, q) {
						continue // it happens to be the story's own words
					}
					m := st.anch.Find(q, -1)
					count(kind, m.Class)
					if !m.Class.Found() {
						continue
					}
					if elsewhere(m) {
						continue // whole sentences of the quote stand in other places
					}
					switch {
					case strings.HasPrefix(kind, "number"), strings.HasPrefix(kind, "negation"):
						if wrong[kind]++; wrong[kind] <= 8 {
							t.Errorf("%s: found as %s (%s)\n quote    %q\n sentence %q\n found    %q", kind, m.Class, m.Why, q, s, m.Range().Of(story))
						}
					case strings.HasPrefix(kind, "middle"):
						if len(m.Ranges) < 2 {
							oneRange++
						}
					case !m.Flagged && m.Class == ClassFuzzy:
						t.Errorf("%s: near match without a flag: %q", kind, q)
					}
				}
			}
			// The sentence itself is found, and not in another story.
			if m := st.anch.Find(s, r.Start); !m.Class.Normalised() || m.Ranges[0].Start != r.Start {
				t.Errorf("sentence at %d not found at its place: %q: %+v", r.Start, s, m)
			}
			if other.set == st.set || other.id != st.id {
				if !strings.Contains(other.words, plainWords(s)) {
					m := other.anch.Find(s, -1)
					count("another story", m.Class)
					if m.Class.Found() {
						t.Logf("another story: %q found as %s in %s/%d: %q", s, m.Class, other.set, other.id, m.Range().Of(other.anch.Story()))
					}
				}
			}
		}
	}
	table(t, counts)
	// A sentence without its middle may by accident be near another place, or
	// near the longer of its halves.
	all := 0
	for _, n := range counts["middle dropped"] {
		all += n
	}
	if oneRange*500 > all {
		t.Errorf("%d of %d sentences without their middle are found as one range", oneRange, all)
	}
}
