// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
	"testing"
)

// TestPrecision: each row is a kind of candidate that readers found to be no
// plot hole, beside the nearest one that is.
func TestPrecision(t *testing.T) {
	filler := strings.Repeat("They talked of this and that for long. ", 14)
	for _, c := range []struct {
		name, text string
		class, old string
		fits       bool
	}{
		{"a dwelling", "They came to a hut. In the hut it was still.\n##\nShe went back to the hut. In the hut it was dark.", "place", "hut", true},
		{"a dwelling beside another", "They came to a cave. In the cave it was still.\n##\nThe trees before the cave were green.", "place", "cave", false},
		{"open land", "They came to a moor. The moor was still.\n##\nShe went back to the moor.", "place", "moor", false},
		{"a wood may lie in a valley", "They came to a wood. The wood was still.\n##\nShe went back to the wood.", "place", "wood", false},
		{"on a place", "They came to a tower. In the tower it was still.\n##\nShe stood upon the tower.", "place", "tower", false},

		{"same scene", "He met a fox in the lane. The fox bowed.\n##\nThen the fox laughed.", "species", "fox", true},
		{"another day", "He met a fox in the lane. The fox bowed.\n##\nOne day the fox laughed.", "species", "fox", false},
		{"far away", "He met a fox in the lane. The fox bowed.\n##\n" + filler + "Then the fox laughed.", "species", "fox", false},
		{"a list", "He met an eagle in the lane. The eagle bowed.\n##\nThen the eagle, the king and the rest laughed.", "species", "eagle", false},
		{"only spoken of", "He met a fox in the lane. The fox bowed.\n##\n\"Where is the fox?\" he asked. Then the fox laughed.", "species", "fox", false},
		{"dead", "He met a fox in the lane. The fox bowed.\n##\nThe fox was dead.", "species", "fox", false},
		{"told again of the next", "He met a hen. Up came a dog and ran off with the candles.\n##\nUp came the dog and ran off with the candles.", "species", "dog", false},
		{"a tree after years", "Before the door grew a beech. The beech was tall.\n##\nMany years after the beech fell.", "species", "beech", false},
		{"a boat after years", "He had a boat. The boat was good.\n##\nMany years after they sat by the boat.", "object", "boat", false},
		{"skill is no boat", "He had learned to steer a boat. The boat was good.\n##\nHe sat by the boat.", "object", "boat", false},
		{"in a thing that holds", "He found a basket. The basket was heavy.\n##\nHe looked in the basket. The basket was empty.", "object", "basket", true},
		{"on a thing", "He found a chest. The chest was heavy.\n##\nHe sat on the chest.", "object", "chest", false},
		{"spelt in two ways", "He found a millstone. The millstone was big. A mill-stone is heavy.\n##\nHe went to the millstone.", "object", "millstone", false},

		{"a beast nobody announced", "They met the fox. The hen ran.\n##\nThen the fox laughed.", "species", "fox", false},
		{"one to whom somebody speaks", "He met a fox in the lane.\n##\nThe bird spoke to the fox. The fox was still.", "species", "fox", false},
		{"a beast last heard of in talk", "He met a fox in the lane. The fox bowed.\n" + strings.Repeat("They talked of this. ", 14) + "\"Call the fox,\" she said. It rained.\n##\nThen the fox laughed.", "species", "fox", false},
		{"what else he may carry", "He had a staff. The staff was long.\n##\nThe well was deep. The sun shone. It was noon. Then he laid his staff down.", "object", "staff", false},
		{"what has a mark of its own", "He had a horn spoon. The horn spoon was long.\n##\nThe well was deep. The sun shone. It was noon. Then he laid the horn spoon down. The horn spoon shone.", "object", "spoon", true},
		{"a friend may be the soldier", "There was a scholar. The scholar was old, and he had a friend.\n##\nThen the scholar laughed.", "role", "scholar", false},
		{"a gown she was told of", "\"Put on your green gown,\" said he. \"Your green gown is in the box.\"\n##\nShe put on her green gown.", "colour", "green", false},
		{"a dress taken off, and one put on", "She wore a white dress. They tore off the white dress.\n##\nShe put on the white dress.", "colour", "white", false},
		{"a dress put on", "She wore a white dress. They liked the white dress.\n##\nShe put on the white dress.", "colour", "white", true},
		{"a cloak somebody had on", "There came an old woman in a grey cloak.\n##\n" + strings.Repeat("They talked. ", 7) + "The grey cloak shone.", "colour", "grey", false},
		{"a cloak she has on still", "There came an old woman in a grey cloak.\n##\nThey talked. The grey cloak shone.", "colour", "grey", true},
		{"a term set again", "He must serve for seven years.\n##\nWhen the seven years were over he came home. \"You must serve for seven years again,\" they said.", "duration", "seven", false},
		{"a term", "He must serve for seven years.\n##\nWhen the seven years were over he came home.", "duration", "seven", true},
		{"a name of whom they only speak", "They asked whether Ralf was at home, and if Ralf was well, for he was old. They sent word that Ralf was to have it, and that he was welcome.\n##\nThe men gave it to Ralf, and he went. He said that Ralf saw it.", "name", "Ralf", false},

		{"whose brother has no name", "A widower had two sons; the elder son was lame. This son was called Ralf. Ralf was cold, and he went. There came Ralf, and he was glad.\n##\n" + strings.Repeat("They talked. ", 7) + "Then Ralf went on his way. He was glad, and so was Ralf.", "name", "Ralf", false},
		{"whose brother has one", "A widower had two sons; the elder son Anders was lame. This son was called Ralf. Ralf was cold, and he went. There came Ralf, and he was glad.\n##\n" + strings.Repeat("They talked. ", 7) + "Then Ralf went on his way. He was glad, and so was Ralf.", "name", "Ralf", true},
		{"one of many", "There was a boy called Ralf. Ralf was cold, and he went. There came Ralf, and Anders, and many others with him.\n##\nThen Ralf went on his way. He was glad, and so was Ralf.", "name", "Ralf", false},
		{"who has two names", "There was a boy called Ralf, or Raffy. Ralf was cold, and he went. There came Ralf with him.\n##\nThen Ralf went on his way. He was glad, and so was Ralf.", "name", "Ralf", false},
		{"a family name", "There was a boy called Ralf. Mr. Ralf was cold, and he went. There came Ralf with him.\n##\nThen Ralf went on his way. He was glad, and so was Ralf.", "name", "Ralf", false},

		{"one of many beasts", "There came a snail, an otter and a fox. The fox bowed.\n##\nThen the fox laughed.", "species", "fox", false},
		{"a gift brought in anew", "He sent ten women and a fox of great beauty.\n##\nThen the fox which had been given to the king laughed. The fox ran.", "species", "fox", false},
		{"one who sits there too", "There was a lawyer. The lawyer was old.\n##\nThey talked. They ate. Then the lawyer laughed.", "role", "lawyer", false},
		{"another woman", "There was a witch in the town. The witch was old.\n##\nThen the witch laughed.", "role", "witch", false},
		{"another relative", "She had an aunt. Her aunt was old.\n##\nThen her aunt laughed.", "role", "aunt", false},
		{"a trade", "There was a cobbler in the town. The cobbler was poor.\n##\nThen the cobbler laughed.", "role", "cobbler", true},
		{"a second servant", "There was a coachman. The coachman was old.\n##\n" + strings.Repeat("They talked. ", 8) + "Then the coachman laughed.", "role", "coachman", false},

		{"a second mule", "He had a white mule. It was good.\n##\nOne day the white mule fell.", "colour", "white", false},
		{"the same mule", "He had a white mule. It was good.\n##\nThen the white mule fell.", "colour", "white", true},
		{"a cap keeps its colour", "A farmer wore a green cap. He liked the green cap.\n##\nOne day he put on the green cap.", "colour", "green", true},
		{"stated later", "\"Bring me a sword,\" he said. He got the sword. The sword was heavy.\n##\nHe laid the sword down. The sword shone.", "object", "sword", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, act2 := read(t, c.text)
			fits := false
			for _, f := range st.Flips(heroes) {
				fits = fits || f.Class == c.class && f.Old == c.old && st.Fits(f, act2)
			}
			if fits != c.fits {
				t.Errorf("fits: %v, want %v; turned down: %q", fits, c.fits, st.refused)
			}
		})
	}
}

// TestNewNames: which names may be flipped and borrowed.
func TestNewNames(t *testing.T) {
	story := func(name, kind string) string {
		return strings.NewReplacer("Ralf", name, "boy", kind).Replace("There was a boy called Ralf. Ralf said that he was cold. Somebody gave Ralf his coat, and he thanked them, and he went.\n##\nThe road was long. At night Ralf came home, and he was glad of his supper, and so was Ralf.")
	}
	for _, c := range []struct {
		name, text string
		to         []Person
		want       string
	}{
		{"a given name", story("Ralf", "boy"), []Person{{Name: "Osmund", Gender: "m", Stories: 1}}, "Osmund"},
		{"of two stories", story("Quillon", "boy"), []Person{{Name: "Bricriu", Gender: "m", Stories: 2}}, "Bricriu"},
		{"of one story", story("Quillon", "boy"), []Person{{Name: "Bricriu", Gender: "m", Stories: 1}}, ""},
		{"foreign beside a given name", story("Ralf", "boy"), []Person{{Name: "Bricriu", Gender: "m", Stories: 2}}, ""},
		{"of another world", story("Ralf", "boy"), []Person{{Name: "Cormac", Gender: "m", Stories: 5}}, ""},
		{"a jacket is no Jack", story("Jack", "boy") + " The jacket was old.", []Person{{Name: "Osmund", Gender: "m", Stories: 5}}, "Osmund"},
		{"Kate is Catherine", strings.ReplaceAll(strings.ReplaceAll(story("Catherine", "girl"), " he ", " she ")+" Kate, they cried.", " his ", " her "), []Person{{Name: "Brida", Gender: "f", Stories: 5}}, ""},
		{"a nickname", story("Ralf", "boy"), []Person{{Name: "Redhead", Gender: "m", Stories: 5}, {Name: "Scrapefoot", Gender: "m", Stories: 5}}, ""},
		{"another gender", story("Ralf", "boy"), []Person{{Name: "Brida", Gender: "f", Stories: 5}}, ""},
		{"who is called for his hair", story("Redhead", "boy"), heroes, ""},
		{"a dog's name", story("Ralf", "dog"), heroes, ""},
		{"nobody says who it is", story("Quillon", "something"), heroes, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, act2 := read(t, c.text)
			got := ""
			for _, f := range st.Flips(c.to) {
				if f.Class == "name" && st.Fits(f, act2) {
					got = f.New
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q; turned down: %q", got, c.want, st.refused)
			}
		})
	}
}

// TestEvidenceStates: a question or a wish states nothing.
func TestEvidenceStates(t *testing.T) {
	st, act2 := read(t, "He had a white mule. If the white mule could speak! Was it the white mule? The white mule was good.\n##\nThen the white mule fell.")
	flips := st.Flips(nil)
	if len(flips) == 0 {
		t.Fatalf("no flip: %q", st.refused)
	}
	if got := flips[0].Evidence(act2); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("evidence %v", got)
	}
}

// TestNoBridge: where no time goes by, and for what changes in no plain way,
// nothing is explained.
func TestNoBridge(t *testing.T) {
	for name, s := range map[string]string{
		"no time": "A farmer wore a green cap. He liked the green cap.\n##\nHe walked about for some while.\n\nHe put on the green cap.",
		"a beast": "He kept a fox. The fox was old, and the fox was kind.\n##\nOne day he went to town.\n\nThe fox laughed.",
	} {
		st, act2 := read(t, s)
		flips := st.Flips(heroes)
		if len(flips) == 0 {
			t.Errorf("%s: no flip: %q", name, st.refused)
		}
		for _, f := range flips {
			if _, words, ok := st.Bridge(f, act2); ok {
				t.Errorf("%s: %s", name, words)
			}
		}
	}
}
