// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/retcon-bench/retcon/schemas"
)

// row makes an example of sentences, joined by blanks. Gold sets nil make it a
// consistent row.
func row(id, group string, sentences []string, errors, contradicted []int) schemas.Example {
	e := schemas.Example{
		ExampleID: id, GroupID: group, MatchID: group, Variant: schemas.VariantOriginal, Split: "test",
		Label: schemas.LabelConsistent, Story: strings.Join(sentences, " "), Words: len(strings.Fields(strings.Join(sentences, " "))),
	}
	e.TextHash = schemas.HashText(e.Story)
	at := 0
	for _, s := range sentences {
		n := utf8.RuneCountInString(s)
		e.Sentences = append(e.Sentences, schemas.Bounds{Start: at, End: at + n})
		at += n + 1
	}
	span := func(i int) schemas.Span {
		return schemas.Span{Offsets: schemas.Offsets{Start: e.Sentences[i].Start, End: e.Sentences[i].End}, Sentence: i, Text: sentences[i]}
	}
	if errors != nil {
		e.Label, e.ContError, e.Variant, e.MatchID = schemas.LabelError, 1, schemas.VariantPatched, group+"#0badcafe"
		for _, i := range errors {
			e.ErrorSpans = append(e.ErrorSpans, span(i))
		}
		for _, i := range contradicted {
			e.ContradictedSpans = append(e.ContradictedSpans, span(i))
		}
	} else {
		original := schemas.VariantOriginal
		e.NegativeKind = &original
	}
	return e
}

func keyOf(t testing.TB, rows ...schemas.Example) *Key {
	t.Helper()
	k, err := KeyOf("test", rows...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// millStory has its error in sentences 6 and 8, against 1.
var millStory = []string{
	"Once a miller lived beside the river Arn.",                             // 0
	"He wore a red cloak that his mother had sewn.",                         // 1
	"“No!” he said whenever it rained, for he hated the rain.",              // 2
	"He had 5 lamps in the mill, and he lit two of them at dusk.",           // 3
	"One night the wheel would not turn and the miller went out to see it.", // 4
	"It was dark.", // 5
	"His blue cloak caught on the wheel — the great wheel — and tore…", // 6
	"It was dark.", // 7
	"He carried the torn blue cloak home and hung it on a nail.", // 8
	"It was dark.", // 9
	"It was dark.", // 10
	"He said the wheel would be the death of him.",  // 11
	"He said the wheel would be the death of her.",  // 12
	"He said the wheel would be the death of them.", // 13
	"He said the wheel would be the death of all.",  // 14
	"Then he slept.", // 15
}

func millRow() schemas.Example { return row("rc-mill", "mill", millStory, []int{6, 8}, []int{1}) }

func ids(s []int) string {
	if len(s) > 12 {
		return fmt.Sprintf("%d..%d (%d)", s[0], s[len(s)-1], len(s))
	}
	return strings.Trim(fmt.Sprint(s), "[]")
}
