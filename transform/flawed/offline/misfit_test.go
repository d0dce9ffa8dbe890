// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
)

func TestBroken(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"He lost the hares.\n\nof the king, and he wept.", "hares.\n\nof"},
		{"They wore a chain of gold. and There were three birds.", "gold. and"},
		{"Mr. and Mrs. Fox went out. They came home.", ""},
		{"He must keep the\n\nhares of the king, and he wept.", "the\n\nhares"},
		{"He knocked. Tap! tap! went the door.", ""},
		{"The fox caught score of mice. He ate them.", "caught score"},
		{"The fox caught a score of mice. He ate them.", ""},
		{"He went. And when the king hesitated and made excuses, in order not to keep his word. He left.", "And when the king hesitated and made excuses, in order not to keep his word."},
		{"When he woke he felt hungry, so he went into the wood.", ""},
		{"When the king came, the boy hid.", ""},
	} {
		st := Read("", "", c.text, text.Sentences(c.text), nil)
		if got := st.Broken(); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestMisfit: words of the old value, far from its mentions.
func TestMisfit(t *testing.T) {
	far := " They talked for long. They went home. They slept. They rose. It rained. "
	for _, c := range []struct{ text, want string }{
		{"There was a parson in the town. The parson was poor." + far + "\"Your grace forgets the churchyard,\" he said.\n##\nThen the parson laughed.", ""},
		{"There was a fisherman in the town. The fisherman was poor." + far + "The net was cold." + far + "The fisherman stood up.\n##\nThen the fisherman laughed.", "net"},
		{"There was a fisherman in the town. The fisherman was poor." + far + "The table was cold." + far + "The fisherman stood up.\n##\nThen the fisherman laughed.", ""},
	} {
		st, _ := read(t, c.text)
		flips := st.Flips(nil)
		if len(flips) == 0 {
			t.Errorf("%q: no flip: %q", c.text, st.refused)
			continue
		}
		if got := st.Misfit(flips[0]); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestVariantNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"caroline", "karin", true}, {"hans", "jan", true}, {"tom", "thomas", true}, {"elsie", "lisa", true}, {"ann", "hanna", true}, {"peter", "walter", false}, {"ralf", "osmund", false},
	} {
		if got := variantOf(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}
