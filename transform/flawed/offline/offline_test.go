// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
)

// read makes a Story of a text whose act 2 starts behind the line "##".
func read(t testing.TB, s string) (*Story, int) {
	t.Helper()
	before, after, ok := strings.Cut(s, "\n##\n")
	if !ok {
		t.Fatalf("no line ## in %q", s)
	}
	whole := before + "\n" + after
	return Read("1/test", "A Tale", whole, text.Sentences(whole), nil), len(before) + 1
}

var heroes = []Person{{Name: "Osmund", Gender: "m"}, {Name: "Brida", Gender: "f"}}

// TestRules: what each class finds, and what each rule of precision turns down.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // class head: old -> evidence sentences -> flipped sentences; or nothing
		not        string // this class must find nothing
	}{
		{"colour", "A farmer wore a green cap. He liked it.\n##\nIt rained. He put on the green cap and went out.", "colour cap: green [0] [3]", ""},
		{"two values", "A farmer wore a green cap.\n##\nHe put on the green cap. His brother had the blue cap.", "", "colour"},
		{"another one", "A farmer wore a green cap.\n##\nHe put on the green cap. There was another cap on the nail.", "", "colour"},
		{"many of them", "A farmer wore a green cap.\n##\nHe put on the green cap. All caps are warm.", "", "colour"},
		{"introduced twice", "A farmer wore a green cap.\n##\nHe put on the green cap. He bought a cap.", "", "colour"},
		{"it is dyed", "A farmer wore a green cap.\n##\nThey dyed his cap. He put on the green cap.", "", "colour"},
		{"a likeness", "He had something like a green cap.\n##\nHe put on the green cap.", "", "colour"},
		{"a dream", "He dreamt of a green cap.\n##\nHe put on the green cap.", "", "colour"},
		{"a condition", "If he had a green cap he would be happy.\n##\nHe put on the green cap.", "", "colour"},
		{"half of it", "A farmer wore a green and red cap.\n##\nHe put on the green cap.", "", "colour"},
		{"the value is left over", "A farmer wore a green cap.\n##\nHe put on the green cap. The cap was as green as grass.", "", "colour"},
		{"only said", "A farmer wore a green cap.\n##\n\"Where is the green cap?\" he asked.", "", "colour"},
		{"six sentences", "A farmer wore a green cap.\n##\n" + strings.Repeat("He put on the green cap. ", 6), "", "colour"},
		{"material", "In the bow hung a brass bell.\n##\nThe wind rose. The brass bell spoke by itself.", "material bell: brass [0] [2]", ""},
		{"side", "The house had a north window. He sat there.\n##\nHe set the lamp in the north window.", "direction window: north [0] [2]", ""},
		{"quality", "On the nail hung an old coat. It was his uncle's.\n##\nHe took down the old coat.", "quality coat: old [0] [2]", ""},
		{"eyes", "A girl had grey eyes.\n##\nShe looked at him with her grey eyes.", "hair_eyes eyes: grey [0] [1]", ""},
		{"two owners of eyes", "A girl had grey eyes.\n##\nShe looked at him with her grey eyes. He shut his grey eyes.", "", "hair_eyes"},
		{"what is no hair", "He wore a coat with gold braid.\n##\nThe gold braid shone.", "", "hair_eyes"},
		{"a name of no known world", "There was a boy called Wunzo. Wunzo said that he was cold. His mother gave Wunzo his coat, and he thanked her, and he went.\n##\nThe road was long. At night Wunzo came home, and he was glad of his supper, and so was Wunzo.", "name Wunzo: Wunzo [0 1 2] [4]", ""},
		{"in a tale of the east", "There was a boy called Wunzo. Wunzo said that he was cold. His mother gave Wunzo his coat, and he thanked her, and he went.\n##\nThe mandarin met him. At night Wunzo came home, and he was glad of his supper, and so was Wunzo.", "", "name"},
		{"a family name that stands first", "There was a boy called Liu. Liu said that he was cold. His mother gave Liu his coat, and he thanked her, and he went.\n##\nThe road was long. At night Liu came home, and he was glad of his supper, and so was Liu.", "", "name"},
		{"a family name", "There was a woman called Dame Trundle. Dame Trundle said that she was cold. Her son gave Dame Trundle her shawl, and she went.\n##\nAt night Dame Trundle came home, and she was glad.", "", "name"},
		{"children", "He had four sisters, and they were dancers.\n##\nHe played. The four sisters came and sat down.", "kin_count sisters: four [0] [2]", ""},
		{"children told apart", "He had three sons.\n##\nThe eldest went away. The three sons wept.", "", "kin_count"},
		{"a loose number", "He had four sisters.\n##\nThe four sisters came. The four of them sat down.", "", "kin_count"},
		{"count", "In the box lay nine candles.\n##\nThe nine candles had burned down.", "count candles: nine [0] [1]", ""},
		{"a number that counts two things", "He had nine ships, and in the box lay nine candles.\n##\nThe nine candles had burned down.", "", "count"},
		{"duration", "She was bound to him for seven years.\n##\nWhen the seven years were over she went home.", "duration years: seven [0] [1]", ""},
		{"season", "One autumn a pedlar came.\n##\nThey remembered that autumn for long.", "season autumn: autumn [0] [1]", ""},
		{"two seasons", "One autumn a pedlar came.\n##\nIn spring he went. They remembered that autumn for long.", "", "season"},
		{"time of day", "One morning a mole found a bead.\n##\nHe had been restless up to that morning.", "time_of_day morning: morning [0] [1]", ""},
		{"species", "He met a fox in the lane. The fox bowed.\n##\n\"Good day,\" said the fox.", "species fox: fox [0 1] [2]", ""},
		{"bound to its kind", "He kept a dog. The dog was old.\n##\nThe dog barked at him.", "", "species"},
		{"only compared", "He was sly as a fox. The fox is known for it.\n##\nHe met the fox.", "", "species"},
		{"changed by a spell", "He met a fox. The fox was changed into a boy.\n##\nThe fox went on.", "", "species"},
		{"old and young", "He met an old fox. The old fox bowed.\n##\nThe young fox came out.", "", "species"},
		{"role", "There was a cobbler in the town. The cobbler was poor.\n##\nAt last the cobbler went to court.", "role cobbler: cobbler [0 1] [2]", ""},
		{"bound to the trade", "There was a cobbler in the town. The cobbler was poor.\n##\nThe cobbler made shoes for the king.", "", "role"},
		{"how many, long ago", "In the box lay nine candles.\n##\n" + strings.Repeat("It rained. ", 21) + "The nine candles had burned down.", "", "count"},
		{"one mention, long after", "There was a boy called Ralf. Ralf said that he was cold. His mother gave Ralf his coat, and he thanked her, and he went.\n##\n" + strings.Repeat("It rained. ", 7) + "Ralf came home, and he was glad.", "", "name"},
		{"a promise", "\"You shall have fifty ducats,\" said the king.\n##\nThe king gave him the fifty ducats.", "", "count"},
		{"money handed over", "\"Here are fifty ducats,\" said the king.\n##\nHe counted the fifty ducats.", "count ducats: fifty [0] [1]", ""},
		{"a time among others", "She had to stay there for forty years.\n##\nWhen they came out, the forty years and the twenty fell off them.", "", "duration"},
		{"hearsay", "\"In an iron chest,\" said the boy.\n##\nThe thief opened the iron chest.", "", "material"},
		{"a gift", "\"Here is an iron chest,\" said the boy.\n##\nThe thief opened the iron chest.", "material chest: iron [0] [1]", ""},
		{"what the trade makes", "There was a cooper in the town, and nobody made tighter casks. The cooper was poor.\n##\nAt last the cooper went to court.", "", "role"},
		{"weighed", "\"Here are twelve pounds of feathers to pick,\" said the king. The girl wept.\n##\nThe twelve pounds were soon picked. It was night.", "count pounds: twelve [0] [2]", ""},
		{"all but one", "There were thirty candles in the box.\n##\nThe thirty candles had burned down. She put twenty-nine aside.", "", "count"},
		{"all of a great many", "There were thirty candles in the box.\n##\nThe thirty candles had burned down. She put them aside.", "count candles: thirty [0] [1]", ""},
		{"a time that is reckoned with", "She was bound to him for seven years.\n##\nIn the sixth year he died. When the seven years were over she went home.", "", "duration"},
		{"a law for all", "\"A fairy may be bound for seven years,\" said the owl.\n##\nThen she flew off, for the seven years were over.", "", "duration"},
		{"what may come off", "On his coat were nine buttons.\n##\nThe nine buttons shone.", "", "count"},
		{"place", "They came to a hut. In the hut it was still.\n##\nShe went back to the hut. In the hut it was dark.", "place hut: hut [0 1] [2 3]", ""},
		{"object", "He found a sword in the grass. The sword was heavy.\n##\nHe laid the sword down. The sword shone.", "object sword: sword [0 1] [2 3]", ""},
		{"an object spoken of once more", "He found a sword in the grass. The sword was heavy.\n##\nHe laid the sword down.", "", "object"},
		{"bound to its use", "He found a sword in the grass. The sword was heavy.\n##\nHe drew the sword.", "", "object"},
		{"name", "There was a boy called Ralf. Ralf said that he was cold. His mother gave Ralf his coat, and he thanked her, and he went.\n##\nThe road was long. At night Ralf came home, and he was glad of his supper, and so was Ralf.",
			"name Ralf: Ralf [0 1 2] [4]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, act2 := read(t, c.text)
			var got []string
			for _, f := range st.Flips(heroes) {
				if !st.Fits(f, act2) {
					continue
				}
				got = append(got, f.Class+" "+f.Head+": "+f.Old+" "+ids(f.Evidence(act2))+" "+ids(f.Supports(act2)))
				if c.not != "" && f.Class == c.not {
					t.Errorf("found %s -> %s", f.Old, f.New)
				}
				check(t, st, f, act2)
			}
			if c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("found %q, want %q; turned down: %q", got, c.want, st.refused)
			}
		})
	}
}

func ids(in []int) string {
	var out []string
	for _, i := range in {
		out = append(out, string(rune('0'+i)))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// check holds every flip to what the automatic checks ask.
func check(t *testing.T, st *Story, f *Flip, act2 int) {
	t.Helper()
	if f.Old == f.New || f.Statement == f.Counterfactual || f.New == "" {
		t.Errorf("%s: %q becomes %q", f.Class, f.Old, f.New)
	}
	patched, whole := st.Apply(f, act2), st.Apply(f, 0)
	if !strings.HasPrefix(patched, st.Text[:act2]) {
		t.Errorf("%s: act 1 was touched", f.Class)
	}
	if strings.Contains(strings.ToLower(st.Text), " "+strings.ToLower(f.New)+" ") {
		t.Errorf("%s: the story had %q already", f.Class, f.New)
	}
	if st2 := Read("", "", whole, text.Sentences(whole), nil); len(st2.at[strings.ToLower(f.Old)]) > 0 && f.Class != "colour" {
		t.Errorf("%s: the counterfactual story still has %q: %s", f.Class, f.Old, whole)
	}
	for _, bad := range []string{" a owl", " a a", " an f", " a u", "  "} {
		if strings.Contains(whole, bad) && !strings.Contains(st.Text, bad) {
			t.Errorf("%s: %q in %q", f.Class, bad, whole)
		}
	}
}

func TestArticlesFollow(t *testing.T) {
	st, act2 := read(t, "He met an owl in the lane. The owl bowed.\n##\n\"Good day,\" said the owl.")
	for _, f := range st.Flips(nil) {
		if f.Head != "owl" {
			continue
		}
		if got := st.Apply(f, 0); !strings.HasPrefix(got, "He met a "+f.New+" in") {
			t.Errorf("%q", got)
		}
		if got := st.Apply(f, act2); !strings.HasPrefix(got, "He met an owl") {
			t.Errorf("%q", got)
		}
		return
	}
	t.Errorf("no flip: %q", st.refused)
}

func TestSpeech(t *testing.T) {
	for _, c := range []struct{ text, spoken string }{
		{`"We go," she said. "Now or never!" He went.`, "we go now or never"},
		{`“We go,” she said. He went.`, "we go"},
		{"'We go,' she said. The sons' horse and the dog's tail. 'Now!'", "we go now"},
		{"\"We go.\n\n\"Now.\" He went. \"Good. Yes. So.\" \"Well.\"", "we go now good yes so well"},
	} {
		st := Read("", "", c.text, text.Sentences(c.text), nil)
		var got []string
		for _, tok := range st.toks {
			if tok.speech {
				got = append(got, tok.w)
			}
		}
		if strings.Join(got, " ") != c.spoken {
			t.Errorf("%q: spoken %q, want %q", c.text, got, c.spoken)
		}
	}
}

// TestBridge: what explains a change away, and behind which sentence.
func TestBridge(t *testing.T) {
	ralf := "There was a boy called Ralf. Ralf said that he was cold. His mother gave Ralf his coat, and he thanked her, and Ralf went.\n##\n"
	// Nowhere in act 1 can the narrator turn aside.
	plain := "The boy Ralf was poor. He said that he was cold. His mother gave Ralf his coat, and he thanked her, and Ralf went, and Ralf came back.\n##\n"
	for _, c := range []struct {
		name, text, class string
		after             int
		words             []string // parts of the sentence; none: there is no way, or no place
	}{
		{"a name", ralf + "The road was long.\n\nRalf came home, and he was glad of his supper, and so was Ralf.", "name", 0, []string{"Now ", "Ralf", "Osmund"}}, // where it is brought in
		{"a name at a new scene", plain + "One day the king sent for him.\n\nRalf came, and he was glad of his supper, and so was Ralf.", "name", 2, []string{"Now ", "Ralf", "Osmund"}},
		{"a name where somebody new comes in", plain + "He was well.\n\nNow the king had a daughter. She was fair. So Ralf went home.", "name", 3, []string{"Ralf", "Osmund"}},
		{"a name where the tale goes on", plain + "He was well.\n\nNow the wife had warned him. She was old. So Ralf went home.", "name", 0, nil},
		{"a name in mid-scene", plain + "The king threw him into the river.\n\nThe water was cold, and he was afraid, and so was Ralf, who wept. So Ralf went home.", "name", 0, nil},
		{"one day when he, who is not the bearer", plain + "One day, when he was out hunting, the king met Ralf. So Ralf went home.", "name", 0, nil},
		{"who was never called anything else", strings.Replace(ralf, "There was a boy called Ralf.", "There was a boy, and nobody ever called him anything but Ralf.", 1) + "One day the king sent for Ralf. So Ralf went home.", "name", 0, nil},
		{"beside another who may be he", strings.Replace(ralf, "There was a boy called Ralf. Ralf said", "There was a woodcutter, and his boy was called Ralf. He said", 1) + "So Ralf came, and Ralf went home.", "name", 0, nil},
		{"where what follows answers what was", plain + "One day the king nevertheless sent for him.\n\nSo Ralf came, and he was glad of his supper, and so was Ralf.", "name", 0, nil},
		{"who has a nickname", strings.Replace(ralf, "There was a boy called Ralf.", "There was a boy called Ralf, and they called him Boots.", 1) + "One day the king sent for Ralf. So Ralf went home.", "name", 0, nil},
		{"told in the present", strings.Replace(plain, "was", "is", 1) + "The road is long.\n\nRalf comes home, and he is glad of his supper, and so is Ralf.", "name", 0, nil},
		{"what follows leans on what was", plain + "So he went on, and the road was long.\n\nThen Ralf came home, and he was glad of his supper, and so was Ralf.", "name", 0, nil},
		{"metals", "She had a golden goblet in her hand.\n##\nThe king laughed. The golden goblet fell down.", "material", 1, []string{"golden on the outside", "within"}},
		{"a garment", "A farmer wore a green cap.\n##\nThe farmer went to town. Then he put on the green cap and went out.", "colour", 0, []string{"the green cap was", "could be worn either way"}},
		{"a trade", "There was a cobbler in the town. The cobbler was poor.\n##\nOne day the king came. The king heard of the cobbler. The cobbler bowed.", "role", 0, []string{"Now the cobbler had"}},
		{"a name long after its bearer came in", strings.Replace(plain, "\n##", " He was well. So Ralf was warm.\n##", 1) + "At the mill the king sent for Ralf. So Ralf went home.", "name", 4, []string{" that Ralf ", "Osmund"}},
		{"a time made longer by who set it", "A dragon met a boy. \"You must serve me for seven years,\" said the dragon.\n##\nThe boy went with him. When the seven years were over he was free.", "duration", 1, []string{"But the dragon thought again", "two years more", "nine years"}},
		{"when he has done speaking", "A dragon met a boy. The dragon said, \"You must serve me for seven years. You must never wash.\"\n##\nHe went with him. When the seven years were over he was free.", "duration", 2, []string{"But the dragon thought again"}},
		{"who goes on speaking", "A cat met a boy. \"I know what you want,\" said the cat. \"You must serve me for seven years.\"\n##\nThe boy went along. When the seven years were over he was free.", "duration", 2, []string{"But the cat thought again"}},
		{"who is meant by he", "A dragon met a boy. Then the dragon carried the boy off. He cried, \"You must serve me for seven years.\"\n##\nThe boy went along. When the seven years were over he was free.", "duration", 2, []string{"But the dragon thought again"}},
		{"a spell that she only knows", "A woman met a girl. \"You must be dumb for seven years,\" said the woman.\n##\nThe girl went home. When the seven years were over she spoke.", "duration", 0, nil},
		{"one who asks something else", "The boy asked what they would do for three days.\n##\nSo when the three days were over he went to the king.", "duration", 0, nil},
		{"who is spoken to", "So she spoke to the Sunball, saying, \"Send me a girl, and when seven years are over you may have her.\" And the Sunball shone.\n##\nThe girl came. When the seven years were over she went.", "duration", 0, nil},
		{"a law", "An owl met a boy. \"A fairy must be an owl for seven years if she tells a lie,\" said the owl.\n##\nThe boy went home. When the seven years were over he met a fairy.", "duration", 0, nil},
		{"a time laid on her", "The king had her walled up in a tower. There she was to stay for seven years.\n##\nBut a dove flew to her until the seven years were over.", "duration", 0, nil},
		{"a time asked for", "The boy begged for three days to think it over.\n##\nSo when the three days were over he went to the king.", "duration", 0, []string{"The three days were granted, and in the end two days more"}},
		{"a time set by nobody knows whom", "A stranger met a boy. \"You must serve for seven years.\"\n##\nThe boy went with him. When the seven years were over he was free.", "duration", 0, nil},
		{"by one who then goes away", "A stranger met a miller. The stranger said, \"When seven years are over I will come,\" and then he went.\n##\nThe miller was glad. When the seven years were over he wept.", "duration", 0, nil},
		{"a time that nobody set", "There came a summer when the sky stayed clear for forty days.\n##\nThe wells were dry. When the forty days were over it rained.", "duration", 0, nil},
		{"a time that has gone by", "The boy had served the king for seven years.\n##\nThe boy went home. When the seven years were over he had been free.", "duration", 0, nil},
		{"a trade of one who comes by", "There was a cobbler in the town. The cobbler was poor.\n##\nThe king heard of the cobbler.", "role", 0, nil},
		{"a countdown", "She must be dumb for seven years.\n##\nThe king came. In three more days the seven years were over.", "duration", 0, nil},
		{"a year and a day", "She must be dumb for seven years and a day.\n##\nThe king came. When the seven years and a day were over she spoke.", "duration", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, act2 := read(t, c.text)
			for _, f := range st.Flips(heroes) {
				if f.Class != c.class {
					continue
				}
				after, words, ok := st.Bridge(f, act2)
				if ok != (c.words != nil) || ok && after != c.after {
					t.Errorf("behind %d, %q, %v", after, words, ok)
				}
				for _, w := range c.words {
					if !strings.Contains(words, w) {
						t.Errorf("%q lacks %q", words, w)
					}
				}
				return
			}
			t.Errorf("no flip: %q", st.refused)
		})
	}
}

// TestLexicon: the tables agree with each other.
func TestLexicon(t *testing.T) {
	lex := lexicon()
	for _, n := range lex.nouns {
		for _, to := range n.instead {
			o, ok := lex.byNoun[to]
			if !ok || o.class != n.class {
				t.Errorf("nouns: %s can become %s, which is no %s of the table", n.one, to, n.class)
			}
			if n.near[to] || n.one == to {
				t.Errorf("nouns: %s can become %s, which gives it away", n.one, to)
			}
		}
	}
	opposite := map[[2]string]bool{}
	for _, f := range table("antonyms.tsv", 2) {
		opposite[[2]string{f[0], f[1]}] = true
	}
	for category, lines := range lex.values {
		for _, l := range lines {
			if l.class == "quality" && (len(l.values) != 2 || !opposite[[2]string{l.values[0], l.values[1]}]) {
				t.Errorf("values: %v of %s is no pair of antonyms.tsv", l.values, category)
			}
		}
	}
	// One lamp and two: nothing is left to fill in, and the verbs agree.
	wrong := map[bool]*regexp.Regexp{
		true:  regexp.MustCompile(`\b(lamps|ones) was\b|\ban? (lamps|red|two)\b|\bits\b`),
		false: regexp.MustCompile(`\b(lamp|one) were\b|\btheir\b`),
	}
	for _, b := range lex.bridges {
		said := strings.Replace(b.sentence, "{who}", "the king", 1)
		for _, f := range []*Flip{
			{Class: b.class, Head: "lamp", Old: "green", New: "red", Changes: make([]Change, 1)},
			{Class: b.class, Head: "lamps", Old: "green", New: "red", plural: true, Changes: make([]Change, 1)},
			{Class: b.class, Head: "lamps", Old: "five", New: "two", plural: true, Changes: make([]Change, 1)},
		} {
			st, _ := read(t, "Once. Twice.\n##\nThrice.")
			got := st.fill(said, f)
			counts := strings.Contains(b.sentence, "{less}") || strings.HasPrefix(b.class, "duration")
			if counts == (f.Old == "five") && (strings.ContainsAny(got, "{}[]|") || !strings.HasSuffix(got, ".") || wrong[f.plural].MatchString(got)) {
				t.Errorf("bridges: %q gives %q", b.sentence, got)
			}
		}
	}

}

// TestAntonymsComeFromWordNet holds the derived table to its source, where that
// is installed (Debian: wordnet-base).
func TestAntonymsComeFromWordNet(t *testing.T) {
	f, err := os.Open("/usr/share/wordnet/data.adj")
	if err != nil {
		t.Skip("no WordNet here: ", err)
	}
	defer f.Close()
	type synset struct {
		words []string
		ptrs  [][4]string // symbol, offset, source/target, -
	}
	sets := map[string]synset{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	hex := func(s string) int {
		n := 0
		for _, r := range s {
			n = n*16 + strings.IndexRune("0123456789abcdef", r)
		}
		return n
	}
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "  ") {
			continue
		}
		w := strings.Fields(strings.SplitN(sc.Text(), " | ", 2)[0])
		var s synset
		n := hex(w[3])
		for i := range n {
			word, _, _ := strings.Cut(w[4+2*i], "(")
			s.words = append(s.words, strings.ToLower(word))
		}
		for p := 5 + 2*n; p+3 < len(w); p += 4 {
			s.ptrs = append(s.ptrs, [4]string{w[p], w[p+1], w[p+3]})
		}
		sets[w[0]] = s
	}
	found := map[[2]string]bool{}
	for _, s := range sets {
		for _, p := range s.ptrs {
			o, ok := sets[p[1]]
			if p[0] != "!" || !ok || len(p[2]) != 4 {
				continue
			}
			a, b := hex(p[2][:2]), hex(p[2][2:])
			if a > 0 && b > 0 && a <= len(s.words) && b <= len(o.words) {
				found[[2]string{s.words[a-1], o.words[b-1]}] = true
			}
		}
	}
	for _, f := range table("antonyms.tsv", 2) {
		if !found[[2]string{f[0], f[1]}] {
			t.Errorf("%s and %s are no antonyms there", f[0], f[1])
		}
	}
}
