// SPDX-License-Identifier: Apache-2.0

package flawed

import (
	"strings"
	"testing"
)

func TestFindFirstLine(t *testing.T) {
	const story = "Once a lamp stood on the wall.\n\n“Who’s there?” cried Tom — for he was afraid.\n\nThe night went on, and the rain\nfell on the lamp and on the road and on the sea. Tom slept.\n\nIn the morning the sun came over the hill and the lamp went out. Tom slept.\n\nIn the morning the sun came over the sea and nobody saw it."
	for _, c := range []struct{ line, how, starts string }{
		{"Once a lamp stood on the wall.", "exact", "Once a"},
		{"\"Once a lamp stood on the wall.\"", "exact", "Once a"},
		{"The night went on, and the rain\nfell on the lamp", "exact", "The night"},
		{"\"Who's there?\" cried Tom - for he was afraid.", "folded", "“Who’s"},
		{"The night went on, and the rain fell on the lamp", "folded", "The night"},
		{"In the morning the sun came over the hill, where the goats were.", "prefix", "In the morning the sun came over the hill"},
		{"The night went on, and then the rain fell on the lamp and on the road and on the sea.", "fuzzy", "The night"},
		{"In the morning the sun came over", "exact", "2"},
		{"In the morning the sun came over everything at last", "", ""}, // its beginning stands twice
		{"Tom slept.", "exact", "2"},
		{"A dragon flew over the hill and nobody saw it.", "", ""},
		{"stood on the wall.", "", ""}, // not at a sentence start
	} {
		starts, how := newFinder(story).find(c.line)
		got := ""
		switch len(starts) {
		case 0:
		case 1:
			got = story[starts[0]:]
		default:
			got = string(rune('0' + len(starts)))
		}
		if how != c.how || !strings.HasPrefix(got, c.starts) || c.starts == "" && got != "" {
			t.Errorf("%q: %q at %.40q, want %q at %q", c.line, how, got, c.how, c.starts)
		}
	}
}

func TestLocateActs(t *testing.T) {
	para := strings.Repeat("The cart went on along the road. ", 5)
	story := "A start. " + para + "\n\nTurn here. " + para + "\n\nAgain. " + para + "\n\nTurn here. " + para + "\n\nThe end came. " + para
	story = strings.TrimSpace(story)
	a, err := locateActs(story, "Turn here.", "The end came.")
	if err != nil {
		t.Fatal(err)
	}
	// The line stands twice; the place nearer to a quarter is meant.
	if got := story[a.Act2:]; strings.Count(got, "Turn here.") != 2 || !strings.HasPrefix(story[a.Act3:], "The end came.") {
		t.Errorf("acts at %d and %d", a.Act2, a.Act3)
	}
	for what, lines := range map[string][2]string{
		"out of order":           {"The end came.", "Again."},
		"the same place":         {"Again.", "Again."},
		"less than 5 % of words": {"A start.", "Again."},
		"not in the story":       {"Nowhere at all in this story.", "Again."},
	} {
		if a, err := locateActs(story, lines[0], lines[1]); err == nil {
			t.Errorf("%s: %+v, want an error", what, a)
		}
	}
}
