// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

func TestNames(t *testing.T) {
	got := namesOf(`"Come in," said Hänsel. Then Gretel laughed, and Hänsel and Grettel slept. The King was
at home. All the Bears slept. Gretel's Bears! A king is a king. "Ask Mr. Fox." They asked Fox.`)
	if diff := cmp.Diff([]string{"bear", "gretel", "hänsel"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetellings: a tale told again with other words and another spelling is
// listed before tales that share a hero's name; order and caller's profiles do
// not matter.
func TestRetellings(t *testing.T) {
	tale := func(id, title, text string) Profile {
		return ProfileOf(schemas.Story{StoryID: id, Title: title, Text: text})
	}
	p := newProse(40)
	profiles := []Profile{
		tale("a:1", "Hansel and Gretel", "In a forest lived a woodcutter, and his children Hansel and Gretel. The witch's oven was hot. The oven! The forest was dark, and in the forest Hansel wept, and so did Gretel, near the witch."),
		tale("b:1", "HANSEL AND GRETHEL", "Once a poor woodcutter had two little ones, who were named Hansel and Grethel. An old witch had built an oven. When Hansel saw the oven and the witch, he and Grethel ran through the forest, a great forest."),
		tale("c:1", "Clever Hansel", "The mother asked Hansel where he would go. To market, said Hansel, and bought a needle; the needle was lost in hay. Hay, said Hansel, is soft."),
	}
	for i := range 40 {
		profiles = append(profiles, tale(fmt.Sprintf("d:%d", i), p.text(3), p.text(300)))
	}
	list := Retellings(profiles, 0.3)
	if len(list) == 0 || list[0].A != "a:1" || list[0].B != "b:1" || list[0].Titles < 0.5 || list[0].Names < 0.5 {
		t.Fatalf("%+v", list)
	}
	slices.Reverse(profiles)
	if diff := cmp.Diff(list, Retellings(profiles, 0.3)); diff != "" {
		t.Errorf("order matters:\n%s", diff)
	}
}
