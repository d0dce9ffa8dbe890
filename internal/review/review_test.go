// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/schemas"
)

const original = "=Zoë had a red 👒 hat. It rained. The red hat dripped. “Dry it,” she said; the red hat dried."

// draft is a plot hole of two sentences in a story that starts like a formula.
func draft() schemas.Draft {
	patched := strings.Replace(strings.Replace(original, "The red hat dripped", "The blue hat dripped", 1), "the red hat dried", "the blue hat dried", 1)
	bounds := func(s string) (out []schemas.Bounds) {
		at := 0
		for _, part := range strings.SplitAfter(s, ". ") {
			n := len([]rune(strings.TrimSpace(part)))
			out = append(out, schemas.Bounds{Start: at, End: at + n})
			at += len([]rune(part))
		}
		return out
	}
	v := &schemas.Variant{Name: schemas.VariantPatched, Text: patched, TextHash: schemas.HashText(patched), Sentences: bounds(patched)}
	for _, s := range []int{2, 3} {
		v.Edits = append(v.Edits, schemas.Edit{Span: schemas.Span{Sentence: s}, SourceStart: bounds(original)[s].Start + 4})
	}
	return schemas.Draft{GroupID: "c:hat", MatchID: "c:hat#1", Title: "The <Hat>", Explanation: "It was red.", Patched: v,
		Original: schemas.Variant{Text: original, TextHash: schemas.HashText(original), Sentences: bounds(original)},
		Errors:   []schemas.GoldSentence{{Sentence: 2}, {Sentence: 3}}, Contradicted: []schemas.GoldSentence{{Sentence: 0}}}
}

func items(t *testing.T) []Item {
	t.Helper()
	a, ok1 := FromDraft(draft())
	b, ok2 := Gate(draft())
	if !ok1 || !ok2 || len(a.Sentences) != 3 || len(b.Sentences) != 3 {
		t.Fatalf("%v %v %+v %+v", ok1, ok2, a, b)
	}
	for _, it := range []Item{a, b} {
		for _, s := range it.Sentences {
			if got, err := s.At.Slice(it.Story); err != nil || got != s.Text {
				t.Errorf("%s: %+v reads %q, %v", it.ExampleID, s, got, err)
			}
		}
	}
	if a.Sentences[1].Text != "The blue hat dripped." || b.Sentences[1].Text != "The red hat dripped." || b.Story != original {
		t.Errorf("item %+v, gate %+v", a.Sentences, b.Sentences)
	}
	return []Item{a, b}
}

func yesNo(b bool) *bool { return &b }

// The three formats carry one vote alike: what is handed out, filled in and
// taken back is what the annotator said.
func TestFormatsCarryAVote(t *testing.T) {
	its := items(t)
	want := schemas.Vote{ExampleID: its[0].ExampleID, TextHash: its[0].TextHash, Annotator: "ann@example.org", Valid: yesNo(true),
		Sentences: []schemas.SentenceVote{{Set: "contradicted", Sentence: 0, Valid: true}, {Set: "error", Sentence: 2, Valid: true}, {Set: "error", Sentence: 3, Valid: false}},
		Reason:    "the last, \"quoted\"\nis fine", Seconds: 41.5, Time: "2026-01-02T03:04:05Z"}
	filled := map[string]string{}

	line, err := schemas.AppendLine(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	filled[FormatJSONL] = "\ufeff" + string(line) + "\n"

	var sheet bytes.Buffer
	if err := Write(&sheet, FormatCSV, its); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&sheet).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if !strings.HasPrefix(rows[1][3], "'=Zoë") {
		t.Errorf("a story that a spreadsheet would compute: %q", rows[1][3])
	}
	if rows[1][9] != "contradicted 0: yes; error 2: yes; error 3: yes" {
		t.Errorf("marks to fill in: %q", rows[1][9])
	}
	rows[1][7], rows[1][8], rows[1][9], rows[1][10], rows[1][11], rows[1][12] = want.Annotator, "Yes", "contradicted 0: yes; error 2: yes; error 3: NO", want.Reason, "41,5", want.Time
	for format, sep := range map[string]rune{"csv": ',', "semicolons": ';', "tabs": '\t'} {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = sep
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		filled[format] = b.String()
	}

	var tasks bytes.Buffer
	if err := Write(&tasks, FormatLabelStudio, its); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(tasks.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	data := list[0]["data"].(map[string]any)
	if h := data["html"].(string); strings.Contains(h, "<Hat>") || !strings.Contains(h, `<mark style="background:#ffd2c2">The blue hat dripped.</mark>`) || !strings.Contains(h, `<mark style="background:#cfe6ff">=Zoë`) {
		t.Errorf("html %s", h)
	}
	wrong := data["marks"].([]any)[2].(map[string]any)["value"].(string)
	m := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	}
	list[0]["id"] = 7
	list[0]["annotations"] = []any{
		m("completed_by", m("id", 3, "email", "ann@example.org"), "lead_time", 41.5, "created_at", "2025-01-01T00:00:00Z", "updated_at", want.Time, "result", []any{
			m("from_name", "valid", "type", "choices", "value", m("choices", []string{"Valid"})),
			m("from_name", "wrong", "type", "choices", "value", m("choices", []string{wrong})),
			m("from_name", "reason", "type", "textarea", "value", m("text", []string{want.Reason})),
		}),
		m("completed_by", 4, "was_cancelled", true, "result", []any{}),
	}
	list[1]["annotations"] = []any{}
	js, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	filled[FormatLabelStudio] = string(js)
	data["id"], data["annotator"], data["valid"], data["wrong"], data["reason"] = 7, "ann@example.org", "Valid", m("choices", []string{wrong}), want.Reason
	data["lead_time"], data["updated_at"] = 41.5, want.Time
	if js, err = json.Marshal([]any{data}); err != nil {
		t.Fatal(err)
	}
	filled["label-studio, min"] = string(js)

	for format, text := range filled {
		votes, _, err := ReadVotes("votes", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if diff := cmp.Diff([]schemas.Vote{want}, votes); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

// What cannot be counted is refused, naming file, place and reason.
func TestReadVotesRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "empty"},
		{" \n", "empty"},
		{"\xff\xfe{", "UTF-8"},
		{`{"example_id":"rc-1","annotator":"a","valid":true}` + "\n" + `{"example_id":"rc-1","valid":true}`, "line 2: no annotator"},
		{`{"annotator":"a","valid":true}`, "line 1: no example_id"},
		{`{"example_id":"rc-1","annotator":"a","valid":"perhaps"}`, "line 1"},
		{`{"example_id":"rc-1","annotator":"a","verdict":true}`, "unknown field"},
		{`{"example_id":"rc-1","annotator":"a","sentences":[{"set":"both","sentence":1,"valid":true}]}`, "want error or contradicted"},
		{"example_id,annotator\nrc-1,a\n", "no column valid"},
		{"example_id,annotator,valid\nrc-1,a,yes\nrc-2,a,perhaps\n", "row 3: valid"},
		{"example_id,annotator,valid\nrc-1,,yes\n", "row 2: no annotator"},
		{"example_id,annotator,valid,Valid\nrc-1,a,yes,no\n", `column "valid" stands twice`},
		{`{"example_id":"rc-1","annotator":"a","valid":true,"valid":false}`, `line 1: key "valid" stands twice`},
		{`[{"id":5,"id":6,"data":{"example_id":"rc-1"},"annotations":[]}]`, `key "0.id" stands twice`},
		{"example_id,annotator,valid,seconds\nrc-1,a,yes,soon\n", "row 2: seconds"},
		{"example_id,annotator,valid,seconds\nrc-1,a,yes,-3\n", "row 2: seconds"},
		{"example_id,annotator,valid,sentences\nrc-1,a,yes,error twelve: yes\n", "row 2: sentences"},
		{"example_id,annotator,valid,sentences\nrc-1,a,yes,error 12: perhaps\n", "row 2: sentences"},
		{`[{"id":5,"data":{"text":"x"},"annotations":[{"completed_by":1,"result":[]}]}]`, "task 1 (id 5): annotation 1: no example_id"},
		{`[{"id":5,"data":{"example_id":"rc-1"},"annotations":[{"result":[{"from_name":"valid","value":{"choices":["Valid"]}}]}]}]`, "no annotator"},
		{`[{"id":5,"example_id":"rc-1"}]`, "export as JSON"},
		{`[{"id":5,`, "unexpected end"},
		{"example_id,annotator,valid\rrc-1,a,yes\rrc-2,a,no\r", "lines end in a CR alone"},
		{"example_id\tannotator\tvalid\rrc-1\ta\tyes\r", "lines end in a CR alone"},
		{"example_id,annotator,valid,reason,seconds\nrc-1,a,yes,short, but clear,3\n", `row 2: "3" stands behind the last column`},
		{"example_id,annotator,valid,sentences\nrc-1,a,yes,error 1: yes; error 1: no\n", "row 2: sentences: error 1 is marked twice"},
	} {
		_, _, err := ReadVotes("v.file", strings.NewReader(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "v.file") {
			t.Errorf("%.70q: %v, want %q", c.in, err, c.want)
		}
	}
}

// Tabs without quoting, as some spreadsheets save them: quotes are the reason's.
func TestPlainTabs(t *testing.T) {
	votes, _, err := ReadVotes("v.tsv", strings.NewReader("example_id\ttext_hash\tannotator\tvalid\treason\nrc-1\th\tann\tno\t\"Yes,\" it said, is \"fine\"\n"))
	if err != nil || len(votes) != 1 || votes[0].Reason != `"Yes," it said, is "fine"` {
		t.Errorf("%+v, %v", votes, err)
	}
}

// In forms where only wrong sentences are ticked, silence is consent only of
// those who find the item valid; nobody's rejection votes on sentences.
func TestMarksOf(t *testing.T) {
	all, wrong := []string{"error 2: a", "contradicted 0: b"}, []string{"error 2: a"}
	if got := marksOf(all, wrong, yesNo(true)); !cmp.Equal(got, []schemas.SentenceVote{{Set: "error", Sentence: 2}, {Set: "contradicted", Valid: true}}) {
		t.Errorf("%+v", got)
	}
	if got := marksOf(all, nil, yesNo(false)); got != nil {
		t.Errorf("%+v", got)
	}
	if got := marksOf(all, wrong, nil); !cmp.Equal(got, []schemas.SentenceVote{{Set: "error", Sentence: 2}}) {
		t.Errorf("%+v", got)
	}
}

// What is accepted can be written as JSON Lines and reads the same again.
func FuzzReadVotes(f *testing.F) {
	f.Add(`{"example_id":"rc-1","annotator":"a","valid":null}`)
	f.Add("example_id;annotator;valid;sentences;wrong;marks\nrc-1;a;?;\"[{\"\"set\"\":\"\"error\"\",\"\"sentence\"\":1,\"\"valid\"\":true}]\";error 3;\"[{\"\"value\"\":\"\"error 3: x\"\"}]\"\n")
	f.Add(`[{"data":{"example_id":"rc-1","marks":[{"value":"error 1: x"}]},"annotations":[{"completed_by":{"id":1},"lead_time":1,"result":[{"from_name":"reason","value":{"text":"x"}}]}]}]`)
	f.Fuzz(func(t *testing.T, in string) {
		votes, _, err := ReadVotes("v", strings.NewReader(in))
		if err != nil || len(votes) == 0 {
			return
		}
		var out []byte
		for _, v := range votes {
			if err := check(v); err != nil {
				t.Fatal(err)
			}
			if out, err = schemas.AppendLine(out, v); err != nil {
				t.Fatal(err)
			}
		}
		again, format, err := ReadVotes("v", bytes.NewReader(out))
		if err != nil || format != FormatJSONL {
			t.Fatal(format, err)
		}
		// An empty list of marks and none are the same here.
		if len(again) != len(votes) || again[0].ExampleID != votes[0].ExampleID || again[0].Annotator != votes[0].Annotator {
			t.Fatalf("%+v, then %+v", votes, again)
		}
	})
}
