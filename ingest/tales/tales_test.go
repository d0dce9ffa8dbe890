// SPDX-License-Identifier: Apache-2.0

package tales

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// Every embedded file gives stories, whole and clean, within the lengths the
// corpus promises, and nothing is dropped.
func TestAllTales(t *testing.T) {
	seen := map[string]bool{}
	n, withFacts, withVerse := 0, 0, 0
	for item, err := range Corpus.Open(context.Background(), "", Corpus.Defaults) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Load(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Dropped) != 0 || b.Bad != 0 {
			t.Errorf("%s: %+v", item.Name, b.Dropped)
		}
		if want := 1; strings.HasPrefix(item.Name, "books/") && len(b.Stories) < 3 || len(b.Stories) < want {
			t.Errorf("%s: %d stories", item.Name, len(b.Stories))
		}
		for _, s := range b.Stories {
			n++
			if seen[s.StoryID] || !strings.HasPrefix(s.StoryID, "tales:") {
				t.Errorf("id %s", s.StoryID)
			}
			seen[s.StoryID] = true
			if err := text.CheckFrozen(s.Text); err != nil || s.TextHash != schemas.HashText(s.Text) {
				t.Errorf("%s: %v", s.StoryID, err)
			}
			if s.Words < 300 || s.Words > 3000 {
				t.Errorf("%s has %d words; 300 to 3,000 are promised", s.StoryID, s.Words)
			}
			for _, w := range []string{"RETCON EBOOK", "CONTENTS", "_", "[Illustration", "Storytellers", "section,text"} {
				if strings.Contains(s.Text, w) {
					t.Errorf("%s holds %q", s.StoryID, w)
				}
			}
			if s.Collection == "" || s.Title == "" || s.Source.Licence == "" || s.Source.RawSHA256 == "" {
				t.Errorf("%s: %+v", s.StoryID, s.Source)
			}
			if len(s.Facts) > 0 {
				withFacts++
			}
			if len(s.Marks) > 0 {
				withVerse++
			}
		}
	}
	if n < 8 || withFacts == 0 || withVerse == 0 {
		t.Errorf("%d tales, %d with questions, %d with verse", n, withFacts, withVerse)
	}
}

func TestNoFolder(t *testing.T) {
	for _, c := range []struct{ root, set, want string }{
		{"somewhere", "", "built in"},
		{"", `{"min":1}`, "min"},
	} {
		for _, err := range Corpus.Open(context.Background(), c.root, json.RawMessage(c.set)) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}
