// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// The word lists of the segmenter. They were made by reading the boundaries it
// drew in the texts it is for (fairy tales, older and newer short stories,
// model output), and hold what was met there and its near kin.

// words makes a set of the blank-separated words of a list.
func words(list string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// in looks w up in a list in small letters, without a copy on the heap. Words
// outside ASCII are in no list.
func in[V any](m map[string]V, w string) (v V) {
	var low [16]byte
	if len(w) > len(low) {
		return v
	}
	for i := 0; i < len(w); i++ {
		c := w[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return m[string(low[:len(w)])]
}

// abbrClass says what a full stop after an abbreviation may be.
type abbrClass uint8

const (
	notAbbr  abbrClass = iota
	title              // a name follows: Mr. Vane
	place              // a name follows, or the sentence ends: St. Anne's, in Main St. He
	numbered           // a number follows: No. 5, vol. II; else the sentence ends
	month              // written with a capital, a number follows: Dec. 25
	era                // a number follows, or the sentence ends: A.D. 934
	never              // does not end a sentence: i.e.
	clock              // ends a sentence unless a zone or day follows: at 5 p.m. Tom
	acronym            // ends a sentence only before a word that starts one: in the U.S. He
	small              // ends a sentence before anything but a small letter: etc.
	clipped            // written with a capital, a name follows: Wm. Vane; Smith & Co. London
)

// abbreviations are looked up as written, then in small letters.
var abbreviations = func() map[string]abbrClass {
	m := make(map[string]abbrClass)
	for _, l := range []struct {
		class abbrClass
		list  string
	}{
		{title, `mr mrs ms mx messrs mssrs mme mmes mlle mlles mons msgr mgr dr drs prof profs rev revd hon
			capt cpt col gen lt lieut sgt sergt maj cmdr comdr cdr adm gov sen rep pres supt insp det
			fr bro sr sra srta mt hrh hr fru frl sec-lieut pvt cpl corp ens brig ste`},
		{place, `st ft ave blvd rd`},
		{numbered, `no nos pp pg vol vols ch chap chaps fig figs sec sect art bk pt par vv ll ff nr op cap ver lib fol`},
		{month, `Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec`},
		{never, `i.e e.g ie eg viz cf vs ca approx i.q q.v`},
		{clock, `a.m p.m b.c`},
		{era, `a.d`},
		{acronym, `ph.d b.a m.a`},
		{clipped, `wm chas geo jas jos thos robt saml benj alex edw fred jno danl co inc ltd bros corp
			esq jr mss`},
		{small, `etc ed eds tr trans ser seq sqq ibid loc cit comp esp dept govt inst ult prox doz lb lbs oz yd yds
			min mins hr hrs qt cwt temp misc orig est incl tel ext adj adv plur masc fem anon univ conf repr
			introd descr illus bibl hist myth ling phil soc trad chron geogr`},
	} {
		for _, w := range strings.Fields(l.list) {
			m[w] = l.class
		}
	}
	return m
}()

// chapterWords stand before a number in a heading.
var chapterWords = words(`chapter book part canto act scene volume section letter stave tale story
	chap prologue epilogue fit fytte lesson night day adventure`)

var numberWords = words(`one two three four five six seven eight nine ten eleven twelve thirteen
	fourteen fifteen sixteen seventeen eighteen nineteen twenty first second third fourth fifth sixth
	seventh eighth ninth tenth the last`)

// timeWords may follow a.m. or p.m. in the same sentence.
var timeWords = words(`Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March
	April May June July August September October November December EST EDT CST CDT MST PST PDT GMT UTC BST
	Eastern Central Pacific Greenwich`)

// starters start sentences and are seldom names.
var starters = words(`a about above after again ah alas all although always among an and another any are as at
	away back be because before behind below beside besides between both but by can come could dear did do does
	down during each either even ever every everyone everything finally first for four from go good had has have
	he hence her here hers herself him himself his how however i if in indeed instead into is it its itself
	just last later let like look many may maybe me meanwhile might more most much must my
	near neither never next no nobody none nor not nothing now o of off oh on once one only or other our out over
	perhaps please quite rather said see seven several shall she should since six so some somebody someone something
	sometimes soon still strange such suddenly take tell than thank that the their them then there therefore these
	they this those though three through thus till to today together tomorrow tonight too two under unless until up upon
	very was we well were what whatever when whence whenever where wherever whereupon whether which while who whoever whom
	whose why will with within without would yes yesterday yet you your yours`)

// articles start sentences and are never names, so that even after a title
// ("Yes, Prof. The bell rang") a new sentence starts.
var articles = words(`A An The He She It They We You But And Then When If There This That What Why How His Her`)

// smallStarters start a sentence even without a capital.
var smallStarters = words(`he she it they we you i no a an the his her there this that these then indeed my`)

// saying says how sure a verb is to be one of saying.
type saying uint8

const (
	says     saying = iota + 1
	core            // nothing but a verb of saying: Tom's mother asked; his voice faltered
	alsoActs        // with an object it is something else: Tom called his dog
	goesOn          // with a particle: Tom went on, cut in, shot back, wanted to know
	answers         // with a quotation after it, it belongs to that one
)

// sayings are verbs of saying, in the forms that a tag has.
var sayings = func() map[string]saying {
	m := make(map[string]saying)
	for _, w := range strings.Fields(`said says asked asks cried cries replied replies
		exclaimed exclaims whispered whispers answered answers shouted shouts
		screamed screams shrieked shrieks yelled yells murmured murmurs muttered mutters mumbled mumbles
		stammered stammers stuttered stutters inquired inquires enquired enquires demanded demands remarked remarks
		observed observes retorted retorts returned responded responds rejoined rejoins declared declares
		protested protests insisted insists suggested suggests added adds interrupted interrupts interposed interjected
		ejaculated growled growls grumbled grumbles snarled snarls hissed hisses roared roars bellowed bellows
		thundered boomed barked snapped sneered scoffed squeaked squealed croaked rasped
		wailed wails moaned moans groaned groans sobbed sobs whimpered whined pleaded pleads implored begged begs
		entreated queried quoth queries persisted repeated repeats echoed echoes agreed agrees admitted admits
		explained explains announced announces complained complains commented conceded concluded countered
		drawled faltered gasped gasps panted piped chimed chirped chuckled chuckles laughed laughs giggled tittered sighed sighs
		snorted blurted crowed cooed gulped hollered urged warned vowed wondered thought thinks mused
		prompted quipped reasoned reminded teased taunted assured affirmed argued bawled cackled challenged
		cheered choked coaxed confessed confided continued corrected countered
		hazarded jeered joked mocked objected offered proclaimed promised proposed purred scolded soothed spat
		spluttered sputtered swore thanked trilled twittered uttered ventured volunteered wept yelped
		quavered quacked brayed bleated mewed ordered commanded called calls began begins breathed sang sings
		finished managed grunted grunts huffed hummed intoned lied noted pressed pronounced
		questioned recited recalled related reported resumed rumbled stated stressed supplied surmised told
		hooted chattered gibbered encouraged blustered guessed guesses blasted enthused
		resonated recounted voiced orders yells cautioned reassured quizzed confirmed admonished articulated bragged
		comforted asserted cursed chanted chatted griped gushed huffed instructed lamented marveled marvelled pleads
		recommended remonstrated reprimanded scoffs shrilled sniffed snickered sniggered sang-out spoke speculated
		squawked started stuttering threatened toasted translated tutted vociferated wheezed whooped
		blubbered corrects deadpanned dared derided directed`) {
		m[w] = says
	}
	for _, w := range strings.Fields(`called calls began begins continued ordered returned breathed sang sings
		finished managed pressed offered lied noted observed recalled related told supplied promised swore
		thanked choked laughed laughs sighed sighs wept cheered snapped spat finished hummed resumed reported
		thought challenged gulped panted spoke started sniffed huffed directed dared threatened toasted cursed
		threatened lamented guessed guesses comforted reassured translated recounted instructed encouraged orders
		articulated confirmed echoed echoes boomed faltered croaked rumbled trilled`) {
		m[w] = alsoActs
	}
	for _, w := range strings.Fields(`answered answers replied replies responded responds rejoined retorted`) {
		m[w] = answers
	}
	// core verbs hardly ever have another meaning.
	for w := range words(`said says asked asks replied answered cried exclaimed whispered shouted called inquired
		enquired demanded remarked murmured muttered screamed yelled added continued insisted interrupted`) {
		if m[w] == says {
			m[w] = core
		}
	}
	for w := range words(`went goes cut chipped chimed shot put broke wanted wants`) {
		m[w] = goesOn
	}
	return m
}()

// inverted verbs may stand before their subject with a capital.
var inverted = words(`said asked cried replied answered exclaimed shouted whispered inquired demanded
	screamed murmured muttered returned growled roared quoth`)

// subjects may follow an inverted verb.
var subjects = words(`the a an his her my our their he she they we you it i one another both this that`)

// objects after a verb show that it is not one of saying.
var objects = words(`the a an his her my our their its it them him this that these those some at off
	home away down up over for into forward forth ahead toward towards against through around past onto`)

var pronouns = words(`He She They It We You Everyone Everybody Someone Somebody Both All One`)

var determiners = words(`The A An His Her My Their Our Another This That Each Every`)

// particles stand inside names.
var particles = words(`de la le du des del della di da van von der den ter of the and von-der al el ben bin ap
	mac o y i ii iii iv`)

// adverbs, beside those in -ly, stand between subject and verb.
var adverbs = words(`then now just only also again once at first last almost even still always never often soon
	too himself herself themselves myself only half aloud back out
	thus merely here there ever yet finally softly in turn all together both quite rather very nearly`)

var auxiliaries = words(`had has have would could did was were`)
