// SPDX-License-Identifier: Apache-2.0

package gutenberg

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

// read reads s as the file called name with default settings.
func read(t testing.TB, name, s string) Book {
	t.Helper()
	r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms, URL: bookURL}
	bk := r.Read(name, []byte(s), nil)
	checkBook(t, s, bk)
	return bk
}

// checkBook checks what holds for every book: texts are frozen and hashed,
// marks lie inside, removals are ordered, apart and inside the decoded file.
func checkBook(t testing.TB, file string, bk Book) {
	t.Helper()
	n := len(text.Decode([]byte(file), declaredCharset([]byte(file), false)).Text)
	seen := map[string]bool{}
	for _, s := range bk.Stories {
		if seen[s.StoryID] {
			t.Errorf("%s twice", s.StoryID)
		}
		seen[s.StoryID] = true
		if err := text.CheckFrozen(s.Text); err != nil {
			t.Errorf("%s: %v", s.StoryID, err)
		}
		if s.Text != text.Trim(s.Text) || s.Text == "" {
			t.Errorf("%s: text has white space at an end, or is empty", s.StoryID)
		}
		if s.TextHash != schemas.HashText(s.Text) || s.Words != text.Words(s.Text) {
			t.Errorf("%s: hash or words differ", s.StoryID)
		}
		for _, m := range s.Marks {
			if _, err := m.Slice(s.Text); err != nil || m.Start >= m.End {
				t.Errorf("%s: mark %v: %v", s.StoryID, m, err)
			}
		}
		end := 0
		for _, r := range s.Removed {
			if r.ByteStart < end || r.ByteEnd < r.ByteStart || r.ByteEnd > n {
				t.Errorf("%s: removal %v after %d in %d bytes", s.StoryID, r, end, n)
			}
			end = r.ByteEnd
		}
	}
	for _, d := range bk.Dropped {
		if d.Reason == "" || d.Detail == "" || len(d.Evidence) == 0 {
			t.Errorf("drop without reason, detail or evidence: %+v", d)
		}
	}
}

// titles lists a book's titles.
func titles(bk Book) []string {
	out := []string{}
	for _, s := range bk.Stories {
		out = append(out, s.Title)
	}
	return out
}

func reasons(bk Book) []string {
	out := []string{}
	for _, d := range bk.Dropped {
		out = append(out, d.Reason)
	}
	return out
}

func rules(s schemas.Story) []string {
	out := []string{}
	for _, r := range s.Removed {
		out = append(out, r.Rule)
	}
	return out
}

// single reads s and returns its only story.
func single(t testing.TB, name, s string) schemas.Story {
	t.Helper()
	bk := read(t, name, s)
	if len(bk.Stories) != 1 {
		t.Fatalf("%d stories (%v), drops %v", len(bk.Stories), titles(bk), bk.Dropped)
	}
	return bk.Stories[0]
}

const (
	startC = "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***\n"
	endC   = "*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***\n"
)

// C01: words of credits inside a story are the story's.
func TestCreditWordsInStory(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"one a line", "The first scene was quiet.\nProduced by a conjuror's hand, the rabbit blinked.\nMara smiled.\n",
			"The first scene was quiet. Produced by a conjuror's hand, the rabbit blinked. Mara smiled."},
		{"one a paragraph", "The first scene was quiet.\n\nProduced by a conjuror's hand, the rabbit blinked.\n\nMara smiled.\n",
			"The first scene was quiet.\n\nProduced by a conjuror's hand, the rabbit blinked.\n\nMara smiled."},
		{"first words", "Produced by a conjuror's hand, the rabbit blinked.\n\nMara smiled.\n",
			"Produced by a conjuror's hand, the rabbit blinked.\n\nMara smiled."},
		{"a name later on", "The play was over.\n\nProduced by Lord Ames, it had cost a fortune.\n\nNobody laughed.\n",
			"The play was over.\n\nProduced by Lord Ames, it had cost a fortune.\n\nNobody laughed."},
		{"transcribed", "The clerk sat down.\n\nTranscribed by the clerk at midnight, the will was short.\n\nHe yawned.\n",
			"The clerk sat down.\n\nTranscribed by the clerk at midnight, the will was short.\n\nHe yawned."},
		{"end of", "They came to the end of the project.\n\nEnd of the road, said the sign.\n\nNote: the bell was cracked.\n\nHe sighed.\n",
			"They came to the end of the project.\n\nEnd of the road, said the sign.\n\nNote: the bell was cracked.\n\nHe sighed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := single(t, "x.txt", startC+"\n"+c.body+"\n"+endC).Text; got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// C04: the same body whatever the marker's form.
func TestMarkerForms(t *testing.T) {
	const body = "Once there was a lamp.\n\nIt burned all night.\n"
	const want = "Once there was a lamp.\n\nIt burned all night."
	for _, c := range []struct{ name, start, end string }{
		{"C", "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***", "*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***"},
		{"E", "*** START OF THE PROJECT GUTENBERG EBOOK THE LAMP ***", "*** END OF THE PROJECT GUTENBERG EBOOK THE LAMP ***"},
		{"D, no blanks", "***START OF THE PROJECT GUTENBERG EBOOK THE LAMP***", "***END OF THE PROJECT GUTENBERG EBOOK THE LAMP***"},
		{"D, title on two lines", "***START OF THE PROJECT GUTENBERG EBOOK THE LAMP AND\nTHE LIGHT***", "***END OF THE PROJECT GUTENBERG EBOOK THE LAMP AND\nTHE LIGHT***"},
		{"title on three lines", "*** START OF THE PROJECT GUTENBERG EBOOK THE LAMP\nAND THE\nLIGHT ***", "*** END OF THE PROJECT GUTENBERG EBOOK THE LAMP\nAND THE\nLIGHT ***"},
		{"B, comma", "*** START OF THE PROJECT GUTENBERG EBOOK, THE LAMP ***", "*** END OF THE PROJECT GUTENBERG EBOOK, THE LAMP ***"},
		{"etext", "*** START OF THIS PROJECT GUTENBERG ETEXT THE LAMP ***", "*** END OF THIS PROJECT GUTENBERG ETEXT THE LAMP ***"},
		{"small letters", "*** Start of the Project Gutenberg EBook The Lamp ***", "*** End of the Project Gutenberg EBook The Lamp ***"},
		{"blanks before", "   *** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***", "   *** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***"},
		{"no closing stars", "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP", "*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP"},
		{"end line before the marker", "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***", "End of the Project Gutenberg EBook of The Lamp, by A. Other\n\n*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***"},
		{"end line, possessive", "*** START OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***", "End of Project Gutenberg's The Lamp, by A. Other\n\n*** END OF THIS PROJECT GUTENBERG EBOOK THE LAMP ***"},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := "The Project Gutenberg EBook of The Lamp\n\nTitle: The Lamp\n\nRelease Date: May, 2005 [EBook #4321]\n\n"
			file := head + c.start + "\n\n" + body + "\n" + c.end + "\n\nUpdated editions will replace the previous one.\n"
			for _, v := range []struct{ name, file string }{
				{"LF", file}, {"CRLF", strings.ReplaceAll(file, "\n", "\r\n")}, {"BOM", "\xef\xbb\xbf" + file}, {"BOM and CRLF", "\xef\xbb\xbf" + strings.ReplaceAll(file, "\n", "\r\n")},
			} {
				s := single(t, "some name.txt", v.file)
				if s.Text != want {
					t.Errorf("%s: %q", v.name, s.Text)
				}
				if s.StoryID != "gutenberg:4321" {
					t.Errorf("%s: id %s", v.name, s.StoryID)
				}
			}
		})
	}
}

const smallPrint = `**The Project Gutenberg Etext of The Lamp, by A. Other**

May, 1996  [Etext #432]

***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
Why is this "Small Print!" statement here?  You know: lawyers.
They tell us you might sue us if there is something wrong with
your copy of this etext, even if you got it for free from someone.
*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*

`

// C05: the small print in front, without a start marker, and behind.
func TestSmallPrint(t *testing.T) {
	story := strings.Repeat("The lamp was lit, and the keeper sat down to read his letters.\n\n", 3)
	want := strings.TrimSpace(story)
	want = strings.TrimSpace(want)
	for _, c := range []struct{ name, file string }{
		{"in front", smallPrint + story},
		{"in front, later version", strings.ReplaceAll(smallPrint, "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*", "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.12.12.00*END*") + story},
		{"in front, closing line", smallPrint + story + "\nEnd of The Project Gutenberg Etext of The Lamp\n\n"},
		{"in front, a very short story", smallPrint + story},
		{"behind", "Title: The Lamp\n\n[EBook #432]\n\n*** START OF THE PROJECT GUTENBERG EBOOK, THE LAMP ***\n\n" + story + "\n*** END OF THE PROJECT GUTENBERG EBOOK, THE LAMP ***\n\n" + smallPrint},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := single(t, "lamp10.txt", c.file)
			if s.Text != want {
				t.Errorf("%q", s.Text)
			}
			if s.StoryID != "gutenberg:432" {
				t.Error(s.StoryID)
			}
		})
	}
}

// C05: what is empty or shrinks is set aside, with a reason.
func TestQuarantine(t *testing.T) {
	for _, c := range []struct{ name, file, reason string }{
		{"nothing between the markers", "Title: The Lamp\n\n" + startC + "\n\n" + endC, ReasonEmpty},
		{"small print and nothing", smallPrint, ReasonEmpty},
		{"only credits", startC + "\nProduced by Ann Other\n\n" + endC, ReasonEmpty},
		{"only pictures", startC + "\n[Illustration: The lamp]\n\n[Illustration]\n\n" + endC, ReasonEmpty},
		{"mostly footnotes", startC + "\nHe sailed[1] at dawn.\n\n[1] " + strings.Repeat("In 1802, as the log says and other logs say too.\n", 30) + "\n" + endC, ReasonShrank},
	} {
		t.Run(c.name, func(t *testing.T) {
			bk := read(t, "x.txt", c.file)
			if len(bk.Stories) != 0 || !slices.Contains(reasons(bk), c.reason) {
				t.Errorf("stories %v, reasons %v", titles(bk), reasons(bk))
			}
		})
	}
}

// C06: notices between parts go, the parts stay.
func TestNoticesBetweenParts(t *testing.T) {
	notice := "<<THIS ELECTRONIC VERSION OF THE COMPLETE WORKS IS COPYRIGHT 1990 BY WORLD\nLIBRARY, INC., AND IS PROVIDED BY PROJECT GUTENBERG ETEXT OF ANYWHERE\nUNIVERSITY WITH PERMISSION.>>"
	want := "The first part was told at noon.\n\nThe second part was told at night."
	for _, c := range []struct{ name, body string }{
		{"angle brackets", "The first part was told at noon.\n\n" + notice + "\n\nThe second part was told at night.\n\n" + notice + "\n"},
		{"markers", "The first part was told at noon.\n\n" + endC + "\nlicence text\n\n" + startC + "\nThe second part was told at night.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := single(t, "x.txt", startC+"\n"+c.body+"\n"+endC)
			if s.Text != want {
				t.Errorf("%q", s.Text)
			}
			if !slices.Contains(rules(s), ruleNotice) {
				t.Errorf("rules %v", rules(s))
			}
		})
	}
}

// C07: what stands between the marker and the text is taken out, each block by
// its rule and range.
func TestLeftoversAfterStart(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"one block", "Produced by Ann Other\n\n[Illustration: The lamp]\nNote: Images of the original pages are available.\n[Transcriber's Note: old spelling kept.]\nCHAPTER I\n\nIt rained.\n"},
		{"blocks", "Produced by Ann Other\n\n\n[Illustration: The lamp]\n\nNote: Images of the original pages are available.\n\n[Transcriber's Note: old spelling kept.]\n\n\nCHAPTER I\n\nIt rained.\n"},
		{"long", "E-text prepared by Ann Other and the Project\nGutenberg Online Distributed Proofreading Team (http://www.pgdp.net)\n\n\n[Illustration: The lamp,\nseen from the sea.]\n\nNote: Project Gutenberg also has an HTML version of this\n      file which includes the original illustrations.\n      See 1-h.htm\n\n[Transcriber's Note: old spelling\nkept.]\n\nCHAPTER I\n\nIt rained.\n"},
		{"note in several blocks", "Produced by Ann Other\n\n[Illustration]\n\nNote: Images of the original pages are available.\n\nTranscriber's note:\n\n      Old spelling was kept.\n\n      So were commas.\n\n\n\n\nCHAPTER I\n\nIt rained.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := startC + "\n" + c.body + "\n" + endC
			s := single(t, "x.txt", file)
			if s.Text != "CHAPTER I\n\nIt rained." {
				t.Errorf("%q", s.Text)
			}
			for _, want := range []struct{ rule, text string }{
				{ruleCredit, "Ann Other"}, {ruleIllustration, "[Illustration"}, {ruleTranscriber, "riginal"}, {ruleTranscriber, "ranscriber"},
				{ruleHeader, "START OF"}, {ruleFooter, "END OF"},
			} {
				ok := false
				for _, r := range s.Removed {
					ok = ok || r.Rule == want.rule && strings.Contains(file[r.ByteStart:r.ByteEnd], want.text)
				}
				if !ok {
					t.Errorf("no removal by %s of %q in %v", want.rule, want.text, s.Removed)
				}
			}
		})
	}
}

// C09: pairs of underscores round words go, others stay.
func TestItalics(t *testing.T) {
	for in, want := range map[string]string{
		"It was _very_ odd. _Mara_ left. snake_case_name stays; 5_000 too.": "It was very odd. Mara left. snake_case_name stays; 5_000 too.",
		"_All of it._":                            "All of it.",
		"\"_Oh!_\" she said.":                     "\"Oh!\" she said.",
		"He read _The Lamp,\nthe Light_ all day.": "He read The Lamp, the Light all day.",
		"Mr. ____ came.":                          "Mr. ____ came.",
		"A lone _ mark.":                          "A lone _ mark.",
		"An _open one.":                           "An _open one.",
		"He was _un_happy.":                       "He was unhappy.",
		"_One_--_two_.":                           "One--two.",
		"_so_, _so_; (_so_) [_so_]":               "so, so; (so) [so]",
		"“_Ja_,” said he, “_ja_.”":                "“Ja,” said he, “ja.”",
		"A =bold= word and 2 = 3.":                "A bold word and 2 = 3.",
		"file_name.txt and __init__ stay":         "file_name.txt and __init__ stay",
		"Worth 600_l_., or 3_s._ and 6_d._ each.": "Worth 600l., or 3s. and 6d. each.",
		"Worth _12l_. Both _2_d; 5_000 stays.":    "Worth 12l. Both 2d; 5_000 stays.",
	} {
		if got := single(t, "x.txt", startC+"\n"+in+"\n\n"+endC).Text; got != want {
			t.Errorf("%q gives\n%q, want\n%q", in, got, want)
		}
	}
	// Over two paragraphs, each of which opens anew.
	if got := single(t, "x.txt", startC+"\n_He came.\n\n_He saw._\n\n"+endC).Text; got != "He came.\n\nHe saw." {
		t.Errorf("%q", got)
	}
}

// C10: a footnote goes with its call, and neither goes alone.
func TestFootnotes(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"both", "He sailed[1] at dawn.\n\nNobody waved.\n\n[1] In 1802, as the log says.\n\nThe sea was grey.\n", "He sailed at dawn.\n\nNobody waved.\n\nThe sea was grey."},
		{"call without note", "Room [12] was shut.\n\nNobody waved.\n", "Room [12] was shut.\n\nNobody waved."},
		{"note without call", "He sailed at dawn.\n\n[1] was painted on the hull.\n\nNobody waved.\n", "He sailed at dawn.\n\n[1] was painted on the hull.\n\nNobody waved."},
		{"one of two", "He sailed[1] at dawn from pier [7].\n\n[1] In 1802.\n\nNobody waved.\n", "He sailed at dawn from pier [7].\n\nNobody waved."},
		{"letters", "He sailed[A] at dawn.\n\n[A] In 1802.\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"round brackets", "He sailed (2) at dawn.\n\n(2) In 1802.\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"round brackets that count", "There were (1) a lamp and (2) a key.\n\nNobody waved.\n", "There were (1) a lamp and (2) a key.\n\nNobody waved."},
		{"star", "He sailed at dawn.*\n\n* In 1802.\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"word", "He sailed at dawn.[3]\n\n[Footnote 3: In 1802, says\nthe log.]\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"inline", "He sailed [Footnote: In 1802.] at dawn.\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"inline, numbered", "He sailed [FN#1: In 1802.] at dawn.\n\nNobody waved.\n", "He sailed at dawn.\n\nNobody waved."},
		{"several in a block", "He sailed[1] at dawn[2].\n\nNobody waved.\n\n[1] In 1802.\n[2] At six.\n", "He sailed at dawn.\n\nNobody waved."},
		{"last, without call", "He sailed at dawn.\n\nNobody waved.\n\n[1] In 1802, as the log says.\n", "He sailed at dawn.\n\nNobody waved.\n\n[1] In 1802, as the log says."},
		{"last, by word", "He sailed at dawn.[3]\n\nNobody waved.\n\n\n[Footnote 3: In 1802.]\n", "He sailed at dawn.\n\nNobody waved."},
		{"last words", "He sailed.\n\nNobody waved at dawn.[1]\n\n\n[1] In 1802.\n", "He sailed.\n\nNobody waved at dawn."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := single(t, "x.txt", startC+"\n"+c.in+"\n"+endC).Text; got != c.want {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// C12: hard wraps are joined, hyphens and dashes kept.
func TestHardWraps(t *testing.T) {
	for in, want := range map[string]string{
		"the well-\nknown lamp--bright as day--fell":             "the well-known lamp--bright as day--fell",
		"the lamp--\nbright as day--fell":                        "the lamp--bright as day--fell",
		"the lamp\n--bright as day--fell":                        "the lamp--bright as day--fell",
		"the lamp -\nbright as day - fell":                       "the lamp - bright as day - fell",
		"the lamp—\nbright as day—fell":                          "the lamp—bright as day—fell",
		"one  line   and\n another":                              "one line and another",
		"he was agreeable to all; an agree-\nable man he was":    "he was agreeable to all; an agreeable man he was",
		"he was well-known to all; a well-\nknown man he was":    "he was well-known to all; a well-known man he was",
		"he was wellknown and well-known; a well-\nknown man he": "he was wellknown and well-known; a well-known man he",
	} {
		if got := single(t, "x.txt", startC+"\n"+in+"\n\n"+endC).Text; got != want {
			t.Errorf("%q gives\n%q, want\n%q", in, got, want)
		}
	}
	set := DefaultSettings()
	set.Dashes = "em"
	r := Reader{Corpus: Name, Settings: set}
	bk := r.Read("x.txt", []byte(startC+"\nthe lamp--bright as day--fell\n\n"+endC), nil)
	if got := bk.Stories[0].Text; got != "the lamp—bright as day—fell" {
		t.Errorf("em dashes: %q", got)
	}
	if !slices.Contains(bk.Stories[0].Meta, schemas.KeyValue{Key: "dashes", Value: "em"}) {
		t.Errorf("profile is not recorded: %v", bk.Stories[0].Meta)
	}
}

// C14: one byte of Latin-1, no U+FFFD.
func TestStrayBytes(t *testing.T) {
	for _, c := range []struct{ name, in, want, charset string }{
		{"Latin-1", "Esm\xe9 lit the lamp.", "Esmé lit the lamp.", "windows-1252"},
		{"declared Latin-1, bytes of 1252", "\x91Well,\x92 said Esm\xe9 \x97 and left.", "‘Well,’ said Esmé — and left.", "windows-1252"},
		{"UTF-8", "Esmé lit the lamp.", "Esmé lit the lamp.", "utf-8"},
		{"declared UTF-9", "Esmé lit the lamp.", "Esmé lit the lamp.", "utf-8"},
	} {
		head := "Title: The Lamp\n\nCharacter set encoding: ISO-Latin-1\n\n"
		if strings.Contains(c.name, "UTF-9") {
			head = "Character set encoding: UTF-9\n\n"
		}
		s := single(t, "x.txt", head+startC+"\n"+c.in+"\n\n"+endC)
		if s.Text != c.want || s.Source.Charset != c.charset || strings.Contains(s.Text, "\uFFFD") {
			t.Errorf("%s: %q as %s", c.name, s.Text, s.Source.Charset)
		}
	}
}

// C15: a mention of the distributor in the text stays: the release check finds
// it, and only that may let it pass.
func TestResidueIsKept(t *testing.T) {
	s := single(t, "x.txt", startC+"\nThe lamp was lit.\n\nVisit www.gutenberg.org for more.\n\nHe slept.\n\n"+endC)
	if !strings.Contains(s.Text, "www.gutenberg.org") {
		t.Errorf("%q", s.Text)
	}
}

func TestVerseKeepsItsLines(t *testing.T) {
	body := `The king's daughter sat down at her window and sang to the geese that she
had been told to keep, and they came up one by one to listen to the song:

    "Come home, come home, my feathered band,
      The sun is in the west,
    The fox is walking on the sand,
      And every bird must rest."

Then the geese went home without being called another time, and the fox was
angry.

Little lamp, little lamp,
Shine for me to-night;
Roads are long and fields are damp,
Stars are out of sight.

He said, "I never heard the like," and this is how it came that the fox
learned to sing:
    I am the fox,
    I live in the rocks.
and nobody believed him.
`
	s := single(t, "x.txt", startC+"\n"+body+"\n"+endC)
	var verse []string
	for _, m := range s.Marks {
		v, err := m.Slice(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == "verse" {
			verse = append(verse, v)
		}
	}
	want := []string{
		"\"Come home, come home, my feathered band,\nThe sun is in the west,\nThe fox is walking on the sand,\nAnd every bird must rest.\"",
		"Little lamp, little lamp,\nShine for me to-night;\nRoads are long and fields are damp,\nStars are out of sight.",
		"I am the fox,\nI live in the rocks.",
	}
	if !slices.Equal(verse, want) {
		t.Errorf("%q", verse)
	}
	if !strings.Contains(s.Text, "and they came up one by one to listen") || !strings.Contains(s.Text, "another time, and the fox was angry.") {
		t.Errorf("prose is not joined: %q", s.Text)
	}
}

// madeProse is made-up text of about n words.
func madeProse(n int) string {
	const s = "The keeper went down to the water every evening, and he looked for her\nboat among the others, and when it was not there he said that the wind was\nto blame.  \"She will come,\" he told the dog, and the dog believed him.\n\n"
	return strings.Repeat(s, n/44+1)
}

// collection puts headings and made-up texts together.
func collection(front string, gap string, after string, heads ...string) string {
	var b strings.Builder
	b.WriteString("Title: Lamp Tales\n\nAuthor: A. Other\n\nRelease Date: May, 2005 [EBook #4321]\n\nLanguage: English\n\n" + startC + "\n\n\n\n" + front)
	for i, h := range heads {
		b.WriteString(gap + h + after)
		fmt.Fprintf(&b, "Tale number %d begins here, in the morning, with a lamp.\n\n%sIt ends with number %d.\n", i+1, madeProse(60), i+1)
	}
	b.WriteString("\n\n\n\n" + endC)
	return b.String()
}

const gap3 = "\n\n\n\n"

func TestSplit(t *testing.T) {
	contents := func(lines ...string) string {
		return "LAMP TALES\n\nby A. Other\n\n\n\nCONTENTS\n\n" + strings.Join(lines, "\n") + "\n"
	}
	many := "The Red Lamp|The Blue Lamp|The Lamp Beyond the Hill|A Lamp for the King"
	plain := strings.Split(many, "|")
	caps := strings.Split(strings.ToUpper(many), "|")
	notes := gap3 + "NOTES AND REFERENCES\n\nHere are the sources of the tales in this book, and some parallels to them.\n\n\n" +
		"I. THE RED LAMP.\n\n_Source_.--From the keeper's wife, who had it from her mother.\n\n\nII. THE BLUE LAMP.\n\n_Source_.--Told to me in a boat by a man whose name I never learned.\n"
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"contents and capitals", collection(contents(caps...), gap3, "\n\n\n", caps...), caps},
		{"contents in capitals, headings in title case", collection(contents(caps...), gap3, "\n\n\n", plain...), plain},
		{"contents with page numbers", collection(contents("                      PAGE", "THE RED LAMP             9", "THE BLUE LAMP . . . . .  21", "THE LAMP BEYOND THE HILL  33", "A LAMP FOR THE KING      45"), gap3, "\n\n", caps...), caps},
		{"contents with blank lines", collection(contents(strings.Join(caps, "\n\n")), gap3, "\n\n\n", caps...), caps},
		{"entry on two lines", collection(contents("THE RED LAMP", "THE BLUE LAMP", "THE LAMP BEYOND", "  THE HILL", "A LAMP FOR THE KING"), gap3, "\n\n\n", caps...), caps},
		{"contents run together", collection("CONTENTS\n\nI. THE RED LAMP II. THE BLUE LAMP III. THE LAMP BEYOND THE HILL IV. A\nLAMP FOR THE KING\n", gap3, "\n\n", caps...), caps},
		{"misprints in the contents", collection(contents("THE RED LAMP.", "THE BLEU LAMP", "THE LAMP BEYOND, THE HILL", "A LAMP FOR THE RING"), gap3, "\n\n\n", caps...), caps},
		{"a tale the contents leave out", collection(contents(caps[0], caps[1], caps[3]), gap3, "\n\n\n", caps...), caps},
		{"no contents, capitals", collection("LAMP TALES\n\nby A. Other\n", gap3, "\n\n\n", caps...), caps},
		{"no contents, title case", collection("LAMP TALES\n\nby A. Other\n", gap3, "\n\n\n", plain...), plain},
		{"no contents, numbered", collection("", "\n\n\n", "\n\n", "1 The Red Lamp", "2 The Blue Lamp", "3 The Lamp Beyond the Hill", "3* A Lamp for the King"), plain},
		{"contents, numbered", collection("CONTENTS\n\n  1 The Red Lamp (Die rote Lampe)\n  2 The Blue Lamp (Die blaue\n    Lampe)\n  3 The Lamp Beyond the Hill\n  4 A Lamp for the King\n", "\n\n\n", "\n\n", "1 The Red Lamp", "2 The Blue Lamp", "3 The Lamp Beyond the Hill", "4 A Lamp for the King"), plain},
		{"roman numeral above the title", collection(contents("I THE RED LAMP  1", "II THE BLUE LAMP  2", "III THE LAMP BEYOND THE HILL  3", "IV A LAMP FOR THE KING  4"), gap3, "\n\n\n", "I\n\nTHE RED LAMP", "II\n\nTHE BLUE LAMP", "III\n\nTHE LAMP BEYOND THE HILL", "IV\n\nA LAMP FOR THE KING"), caps},
		{"roman numeral above the title, no contents", collection("", gap3, "\n\n\n", "I\n\nTHE RED LAMP", "II\n\nTHE BLUE LAMP", "III\n\nTHE LAMP BEYOND THE HILL", "IV\n\nA LAMP FOR THE KING"), caps},
		{"adventure and number", collection(contents("I. The Red Lamp", "II. The Blue Lamp", "III. The Lamp Beyond the Hill", "IV. A Lamp for the King"), gap3, "\n\n", "ADVENTURE I. THE RED LAMP", "ADVENTURE II. THE BLUE LAMP", "III. THE LAMP BEYOND THE HILL", "IV. A LAMP FOR THE KING"), caps},
		{"headings of two lines", collection(contents(caps...), gap3, "\n\n\n", "THE RED LAMP", "THE BLUE LAMP", "THE LAMP\nBEYOND THE HILL", "A LAMP\nFOR THE KING"), caps},
		{"full stops", collection(contents(caps...), gap3, "\n\n\n", "THE RED LAMP.", "THE BLUE LAMP.", "THE LAMP BEYOND THE HILL.", "A LAMP FOR THE KING."), caps},
		{"source notes in headings", collection(contents(caps...), gap3, "\n\n\n", "THE RED LAMP (From the Russian)", "THE BLUE LAMP", "THE LAMP BEYOND THE HILL (From the German)", "A LAMP FOR THE KING"), caps},
		{"footnote numbers glued to headings", collection(contents(caps...), gap3, "\n\n", "THE RED LAMP(7)\n\n(7) Grimm.", "THE BLUE LAMP (8)\n\n(8) Kletke.", "THE LAMP BEYOND THE HILL[9]\n\n[9] Andersen.", "A LAMP FOR THE KING"), caps},
		{"italic half-titles and pictures", collection(contents(caps...), gap3, "\n\n\n", "_The Red Lamp_\n\n[Illustration]\n\n\nThe Red Lamp", "_The Blue Lamp_\n\n[Illustration: \"IS IT\nBLUE?\"]\n\n\nThe Blue Lamp", "_The Lamp Beyond the Hill_\n\n\nThe Lamp Beyond the Hill", "_A Lamp for the King_\n\n\nA Lamp for the King"), plain},
		{"uneven gaps", strings.Replace(collection(contents(caps...), gap3, "\n\n", caps...), "\n\n\n\nTHE BLUE", "\n\n\nTHE BLUE", 1), caps},
		{"notes that repeat the titles", strings.Replace(collection(contents(append(slices.Clone(caps), "NOTES AND REFERENCES")...), gap3, "\n\n\n", caps...), "\n\n\n\n"+endC, notes+"\n\n\n\n"+endC, 1), caps},
		{"notes set like the tales", strings.Replace(collection(contents(caps...), gap3, "\n\n\n", caps...), "\n\n\n\n"+endC, strings.ReplaceAll(notes, "\n\n\n", gap3+"\n")+"\n\n\n\n"+endC, 1), caps},
		{"preface, introduction, list of pictures", collection("Preface\n\n\n"+madeProse(100)+gap3+contents(caps...)+gap3+"LIST OF ILLUSTRATIONS\n\nThe Red Lamp       _Frontispiece_\nThe King           12\n"+gap3+"INTRODUCTION\n\n\n"+madeProse(100), gap3, "\n\n\n", caps...), caps},
		{"advertisement and the end", strings.Replace(collection(contents(caps...), gap3, "\n\n\n", caps...), "\n\n\n\n"+endC, "\n\nTHE END\n"+gap3+"BOOKS BY THE SAME AUTHOR\n\nThe Silver Spoon. Cloth, 6s.\n\nThe Golden Fork. Cloth, 6s.\n"+gap3+endC, 1), caps},
		{"dedications under the headings", collection(contents(caps...), gap3, "\n\n", "THE RED LAMP\n\n                 TO\n           MARGARET LADY BROOKE", "THE BLUE LAMP", "THE LAMP BEYOND THE HILL\n\n              TO MISS GREY", "A LAMP FOR THE KING"), caps},
		{"group headings", collection(contents("SEA TALES", "THE RED LAMP", "THE BLUE LAMP", "LAND TALES", "THE LAMP BEYOND THE HILL", "A LAMP FOR THE KING"), gap3, "\n\n\n", "SEA TALES"+gap3+"THE RED LAMP", "THE BLUE LAMP", "LAND TALES"+gap3+"THE LAMP BEYOND THE HILL", "A LAMP FOR THE KING"), caps},
		{"a sea shanty with a title", strings.Replace(collection(contents(caps...), gap3, "\n\n\n", caps...), "It ends with number 2.", "THE SONG OF THE KEEPER\n\n    Lamp, lamp, burn bright,\n    All the day and all the night.\n\nIt ends with number 2.", 1), caps},
		{"one shouted word", strings.Replace(collection(contents(caps...), gap3, "\n\n\n", caps...), "It ends with number 2.", "\n\"NO.\"\n\n\nIt ends with number 2.", 1), caps},
		{"gap inside a tale", strings.Replace(collection(contents(caps...), gap3, "\n\n\n", caps...), "It ends with number 2.", "\n\n*       *       *       *       *\n\n\nIt ends with number 2.", 1), caps},
	} {
		t.Run(c.name, func(t *testing.T) {
			bk := read(t, "x.txt", c.file)
			got := titles(bk)
			if strings.Contains(c.name, "roman") {
				c.want = caps
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("split by %s: %q\nwant %q\ndropped %v", bk.Outline, got, c.want, bk.Dropped)
			}
			for i, s := range bk.Stories {
				first := fmt.Sprintf("Tale number %d begins here", i+1)
				last := fmt.Sprintf("It ends with number %d.", i+1)
				if !strings.HasPrefix(s.Text, first) || !strings.HasSuffix(s.Text, last) {
					t.Errorf("%s: %.40q ... %q", s.StoryID, s.Text, s.Text[max(0, len(s.Text)-60):])
				}
				if want := "gutenberg:4321/" + schemas.Slug(s.Title); s.StoryID != want {
					t.Errorf("id %s, want %s", s.StoryID, want)
				}
			}
			accounted(t, c.file, bk)
		})
	}
}

// accounted checks that each line of the file is in a story, a heading or a
// removal of some story: nothing vanishes.
func accounted(t testing.TB, file string, bk Book) {
	t.Helper()
	in := func(at int) bool {
		for _, p := range bk.Parts {
			if p.Start <= at && at < p.End {
				return true
			}
		}
		for _, s := range bk.Stories {
			for _, r := range s.Removed {
				if r.ByteStart <= at && at < r.ByteEnd {
					return true
				}
			}
		}
		return false
	}
	at := 0
	for _, l := range strings.SplitAfter(file, "\n") {
		if s := strings.TrimSpace(l); s != "" && !in(at+strings.Index(l, s[:1])) {
			t.Errorf("unaccounted: %q at byte %d", s, at)
		}
		at += len(l)
	}
}

func TestPartsStayTogether(t *testing.T) {
	for _, c := range []struct {
		name, head, part2 string
		text              string // a part heading that is kept
	}{
		{"stories", "THE WEDDING\n\nFIRST STORY", "SECOND STORY", "SECOND STORY"},
		{"titled stories", "THE SNOW LAMP\n\nFIRST STORY. Which Treats of Glass", "SECOND STORY. A Little Boy", "SECOND STORY. A Little Boy"},
		{"chapters", "A VOYAGE\n\nCHAPTER I", "CHAPTER II", "CHAPTER II"},
		{"numerals", "PRINCE AHMED\n\nI", "II", "II"},
		{"numbered parts", "THE ADVENTURES\n\n1. HOW THEY WENT TO THE HILLS", "2. HOW THEY CAME BACK", "2. HOW THEY CAME BACK"},
		{"italic parts", "THE WISE MEN\n\n_Of Buying Sheep_", "_Of Hedging a Cuckoo_", "Of Hedging a Cuckoo"},
		{"morals", "THE FAIRY", "_The Moral_", "The Moral"},
	} {
		t.Run(c.name, func(t *testing.T) {
			title, _, _ := strings.Cut(c.head, "\n")
			file := collection("CONTENTS\n\nTHE RED LAMP\n"+title+"\nTHE BLUE LAMP\n", gap3, "\n\n\n", "THE RED LAMP", c.head, "THE BLUE LAMP")
			file = strings.Replace(file, "It ends with number 2.", madeProse(50)+"\n\n"+c.part2+"\n\n"+madeProse(50)+"It ends with number 2.", 1)
			bk := read(t, "x.txt", file)
			if want := []string{"THE RED LAMP", title, "THE BLUE LAMP"}; !slices.Equal(titles(bk), want) {
				t.Fatalf("%q, want %q", titles(bk), want)
			}
			s := bk.Stories[1]
			if !strings.HasSuffix(s.Text, "It ends with number 2.") || !strings.Contains(s.Text, "\n\n"+c.text+"\n\n") {
				t.Errorf("%q", s.Text)
			}
		})
	}
}

func TestRepeatedHeadings(t *testing.T) {
	bk := read(t, "x.txt", collection("", gap3, "\n\n\n", "THE LAMP", "THE KEY", "THE LAMP", "THE LAMP"))
	var ids []string
	for _, s := range bk.Stories {
		ids = append(ids, s.StoryID)
	}
	if want := []string{"gutenberg:4321/the-lamp", "gutenberg:4321/the-key", "gutenberg:4321/the-lamp-2", "gutenberg:4321/the-lamp-3"}; !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
}

// Books that are no story collections are set aside with a reason.
func TestSetAside(t *testing.T) {
	chapters := func(n, words int, titled bool) string {
		var b strings.Builder
		b.WriteString("Title: The Long Voyage\n\n[EBook #77]\n\nLanguage: English\n\n" + startC)
		for i := 1; i <= n; i++ {
			b.WriteString(gap3 + "CHAPTER " + formatRoman(i) + "\n\n")
			if titled {
				b.WriteString("How the Wind Blew for the Time of " + formatRoman(i) + " Days\n\n\n")
			}
			b.WriteString(madeProse(words))
		}
		return b.String() + gap3 + endC
	}
	play := "Title: A Play\n\n[EBook #78]\n\n" + startC + "\n\nACT I\n\n"
	for i := 0; i < 60; i++ {
		play += "ALGERNON. Did you hear what I was playing, Lane?\n\nLANE. I didn't think it polite to listen, sir.\n\n"
	}
	verse := "Title: Poems\n\n[EBook #79]\n\n" + startC + "\n\n"
	for i := 0; i < 60; i++ {
		verse += "    Lamp of the morning, lamp of the night,\n    Who was it taught you to burn so bright?\n    Nobody answered and nobody came,\n    Only the wind knew the lamp by its name.\n\n"
	}
	french := "Title: Contes\n\n[EBook #80]\n\n" + startC + "\n\n"
	for i := 0; i < 40; i++ {
		french += "Il y avait une fois un roi qui avait trois filles, et la plus jeune était\nla plus belle de toutes les filles du pays où ils demeuraient ensemble.\n\n"
	}
	for _, c := range []struct{ name, file, reason string }{
		{"novel in chapters", chapters(12, 1500, false), ReasonLongWork},
		{"novel in titled chapters", chapters(12, 1500, true), ReasonLongWork},
		{"one long piece", "Title: X\n\n" + startC + "\n\n" + madeProse(14000) + endC, ReasonLongWork},
		{"play", play + endC, ReasonPlay},
		{"poems", verse + endC, ReasonPoetry},
		{"French by its header", "Title: Contes\n\nLanguage: French\n\n" + startC + "\n\nThe lamp.\n\n" + endC, ReasonLanguage},
		{"French without a header", french + endC, ReasonLanguage},
		{"two languages", "Title: Contes\n\nLanguage: German and English\n\n" + startC + "\n\nThe lamp.\n\n" + endC, ReasonLanguage},
		{"copyrighted by its header", "The COPYRIGHTED Project Gutenberg eBook\n\n** This is a COPYRIGHTED Project Gutenberg eBook, Details Below **\n\nTitle: X\n\n" + startC + "\n\n" + madeProse(200) + endC, ReasonCopyright},
		{"copyrighted by its title page", "Title: X\n\n" + startC + "\n\nCopyright (C) 2002 by Ann Other.\n\n\n" + madeProse(200) + endC, ReasonCopyright},
	} {
		t.Run(c.name, func(t *testing.T) {
			bk := read(t, "x.txt", c.file)
			if len(bk.Stories) != 0 || !slices.Equal(reasons(bk), []string{c.reason}) || bk.Bad {
				t.Errorf("stories %q, reasons %v", titles(bk), reasons(bk))
			}
		})
	}
	if bk := read(t, "x.txt", chapters(4, 500, false)); len(bk.Stories) != 1 || bk.Stories[0].StoryID != "gutenberg:77" {
		t.Errorf("a short work in chapters is a story: %q %v", titles(bk), bk.Dropped)
	}
	if bk := read(t, "x.txt", "Title: X\n\n"+startC+"\n\n_Copyright, 1921, by_\nANN OTHER\n\n\n"+madeProse(200)+endC); len(bk.Stories) != 1 {
		t.Errorf("an old copyright line: %v", bk.Dropped)
	}
}

func TestFrameChapters(t *testing.T) {
	talk := strings.Repeat("\"Tell us another,\" said Vanya, and Maroosia looked at old Peter, and Peter\nlaughed. \"Sit down,\" said Peter to Vanya, \"and you too, Maroosia.\"\n\n", 8)
	heads := []string{"THE HUT", "THE FROST", "THE SALT", "THE SHIP", "THE SNOW", "THE FISH", "THE SKULL", "THE TURNIP"}
	var b strings.Builder
	b.WriteString("Title: Peter's Tales\n\n[EBook #81]\n\n" + startC + "\n\n\nCONTENTS\n\n" + strings.Join(heads, "\n") + "\n")
	for i, h := range heads {
		b.WriteString(gap3 + h + ".\n\n\n")
		if i == 0 {
			b.WriteString(talk)
			continue
		}
		b.WriteString("\"Listen,\" said old Peter to Vanya and Maroosia.\n\n" + madeProse(900) + "\"And that is all,\" said Peter to Vanya and to Maroosia.\n")
	}
	bk := read(t, "x.txt", b.String()+gap3+endC)
	if !slices.Equal(titles(bk), heads[1:]) || !slices.Equal(reasons(bk), []string{ReasonFrame}) {
		t.Errorf("%q %v", titles(bk), bk.Dropped)
	}
	if s := bk.Stories[0].Text; !strings.HasPrefix(s, "\"Listen,\"") || !strings.HasSuffix(s, "Maroosia.") {
		t.Errorf("talk round a tale stays: %.60q", s)
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ name, file, reason string }{
		{"empty.txt", "", ReasonEmptyFile},
		{"blank.txt", " \r\n\t\n", ReasonEmptyFile},
		{"picture.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ReasonNotText},
		{"archive.txt", "PK\x03\x04\x14\x00\x00\x00\x08\x00", ReasonNotText},
		{"noise.txt", string([]byte{0, 1, 2, 3, 0, 0, 0, 200, 7, 0, 9, 1, 2, 3}), ReasonNotText},
	} {
		bk := read(t, c.name, c.file)
		if !bk.Bad || !slices.Equal(reasons(bk), []string{c.reason}) || !strings.Contains(fmt.Sprint(bk.Dropped), c.name) {
			t.Errorf("%s: %+v", c.name, bk.Dropped)
		}
	}
	// A text in UTF-16 is no binary.
	u := []byte{0xFF, 0xFE}
	for _, r := range startC + "\nThe lamp was lit.\n\n" + endC {
		u = append(u, byte(r), 0)
	}
	if got := single(t, "u.txt", string(u)).Text; got != "The lamp was lit." {
		t.Errorf("UTF-16: %q", got)
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"files/503/503-0.txt", "Release Date: May, 2005 [EBook #503]", "503"},
		{"files/503/503-8.txt", "", "503"},
		{"files/503/old/blfry10.txt", "", "503"},
		{"cache/epub/2591/pg2591.txt", "Release date: April 1, 2001 [eBook #2591]", "2591"},
		{"pg2591-images.html", "", "2591"},
		{"5314-8.txt", "", "5314"},
		{"my grimm.txt", "April, 1996  [Etext #503]", "503"},
		{"My Grimm Tales.txt", "", "my-grimm-tales"},
		{"sub/folder/Old_Tales.TXT", "", "old-tales"},
		{"1812.txt", "Posting Date: May 2, 2011 [EBook #99]", "99"},
		{"x.txt", "*****This file should be named blfry10.txt or blfry10.zip*****\n#3 in our series\n[Etext #503]", "503"},
	} {
		if got := keyOf(c.name, []byte(c.head+"\n\n"+startC)); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.name, c.head, got, c.want)
		}
	}
}

func TestHeaderFields(t *testing.T) {
	for _, c := range []struct {
		head string
		want header
	}{
		{"The Project Gutenberg eBook of Grimms' Fairy Tales\n\nTitle: Grimms' Fairy Tales\n\nAuthor: Jacob Grimm\n        Wilhelm Grimm\n\nRelease date: April 1, 2001 [eBook #2591]\n                Most recently updated: June 28, 2021\n\nLanguage: English\n\nCredits: Emma\n\n",
			header{id: "2591", title: "Grimms' Fairy Tales", authors: []string{"Jacob Grimm", "Wilhelm Grimm"}, language: "English", release: "April 1, 2001"}},
		{"Title: The Importance of\n       Being Lamp\n\n\nEditor: Joseph Jacobs\n\nLanguage: English\n\nCharacter set encoding: UTF-9\n\n",
			header{title: "The Importance of Being Lamp", authors: []string{"Joseph Jacobs"}, language: "English", charset: "UTF-9"}},
		{"*******The Project Gutenberg Etext of The Blue Lamp, by A. Lang*******\n\nApril, 1996  [Etext #503]\n",
			header{id: "503", title: "The Blue Lamp", authors: []string{"A. Lang"}}},
	} {
		got := parseHeader(c.head)
		if got.id != c.want.id || got.title != c.want.title || !slices.Equal(got.authors, c.want.authors) || got.language != c.want.language || got.charset != c.want.charset ||
			c.want.release != "" && got.release != c.want.release {
			t.Errorf("%q\n got %+v\nwant %+v", c.head, got, c.want)
		}
	}
}

// Books of chapters on a subject, with legends under headings of their own and
// the notes at the end of each chapter: the calls go, though their notes stand
// behind other legends, and an essay is no story.
func TestSections(t *testing.T) {
	telling := "Old %s went down to the weir at dusk, and she said to her sister, \"I saw him there again.\" They took a lamp and went to look for him, but he told them to go home, and they came back wet to the knees.[%d] Then %s asked her what she had seen, and she replied that he had no face at all. "
	names := []string{"Mabel Fenn", "Tobias Rook", "Judith Marl", "Peter Gale", "Agnes Thorn", "Simon Weir", "Lettice Pool", "Gregory Holt"}
	var b strings.Builder
	b.WriteString(startC + "\n\n\nCONTENTS\n\nCHAPTER I. Of Waters\n\nCHAPTER II. Of Stones\n\nCHAPTER III. Of Charms\n\n\n\n\n")
	note := 0
	for ch, head := range []string{"CHAPTER I.\n\nOF WATERS.", "CHAPTER II.\n\nOF STONES.", "CHAPTER III.\n\nOF CHARMS."} {
		b.WriteString("\n\n\n\n" + head + "\n\n\nThe parish is crossed by several streams, of which the largest turns a mill; the bridges are of brick.\n\n\n")
		first := note + 1
		for k := range 4 {
			name := names[(ch*4+k)%len(names)]
			b.WriteString("\nTHE LEGEND OF " + strings.ToUpper(name) + " AND THE " + []string{"LAMP", "KETTLE", "LADDER", "BELL", "SPADE", "CANDLE", "WHEEL", "BASKET", "SIEVE", "CHURN", "HARROW", "ANVIL"}[ch*4+k] + ".\n\n")
			note++
			for range 3 {
				b.WriteString(fmt.Sprintf(telling, name, note, strings.Fields(name)[0]) + "\n\n")
			}
			b.WriteString("\n")
		}
		for n := first; n <= note; n++ {
			if n == 6 {
				b.WriteString("[6]\n\n    \"Who drinks of the weir,\n    Comes again in a year.\"\n\n")
				continue
			}
			fmt.Fprintf(&b, "[%d] From Miss Crane.\n\n", n)
		}
	}
	b.WriteString("\n\n" + endC)
	r := Reader{Corpus: Name, Settings: DefaultSettings(), Terms: Terms}
	r.Settings.MinWords = 0
	bk := r.Read("sections.txt", []byte(b.String()), nil)
	if len(bk.Stories) != 12 {
		for _, s := range bk.Stories {
			t.Log(s.Title, s.Words)
		}
		t.Fatalf("%d stories, dropped %v", len(bk.Stories), bk.Dropped)
	}
	for _, s := range bk.Stories {
		if strings.Contains(s.Text, "[") || strings.Contains(s.Text, "Crane") {
			t.Errorf("%s: a call or a note stayed:\n%s", s.StoryID, s.Text)
		}
	}
}
