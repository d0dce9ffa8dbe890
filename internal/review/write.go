// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// Formats of questions and votes.
const (
	FormatJSONL       = "jsonl"
	FormatCSV         = "csv"
	FormatLabelStudio = "label-studio"
)

// Formats lists them.
var Formats = []string{FormatJSONL, FormatCSV, FormatLabelStudio}

// Write writes questions in a format.
func Write(w io.Writer, format string, items []Item) error {
	switch format {
	case FormatJSONL:
		return writeJSONL(w, items)
	case FormatCSV:
		return writeCSV(w, items)
	case FormatLabelStudio:
		return writeTasks(w, items)
	}
	return fmt.Errorf("format %q: want %s", format, strings.Join(Formats, ", "))
}

func writeJSONL(w io.Writer, items []Item) error {
	b := bufio.NewWriter(w)
	var line []byte
	for _, it := range items {
		var err error
		if line, err = schemas.AppendLine(line[:0], it); err != nil {
			return fmt.Errorf("%s: %w", it.ExampleID, err)
		}
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Columns of the CSV. The first ones are the question; the annotator fills in
// the others. sentences lists the marks: "error 12: yes; contradicted 3: yes",
// of which the annotator turns the wrong ones into no.
var csvColumns = []string{"example_id", "text_hash", "title", "story", "explanation", "error_sentences", "contradicted_sentences",
	"annotator", "valid", "sentences", "reason", "seconds", "time"}

func writeCSV(w io.Writer, items []Item) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvColumns); err != nil {
		return err
	}
	for _, it := range items {
		var sides [2][]string
		var marks []string
		for _, s := range it.Sentences {
			i := 0
			if s.Set == setContradicted {
				i = 1
			}
			sides[i] = append(sides[i], fmt.Sprintf("[%d] %s", s.Sentence, oneLine(s.Text)))
			marks = append(marks, s.mark()+": yes")
		}
		if err := c.Write([]string{it.ExampleID, it.TextHash, formula(it.Title), formula(it.Story), formula(it.Explanation), strings.Join(sides[0], "\n"), strings.Join(sides[1], "\n"),
			"", "", strings.Join(marks, "; "), "", "", ""}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// formula keeps a spreadsheet from taking a text for one. The story is for
// reading here; votes bind to the hash.
func formula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// task is one task of Label Studio.
type task struct {
	Data taskData `json:"data"`
}

type taskData struct {
	ExampleID   string   `json:"example_id"`
	TextHash    string   `json:"text_hash"`
	Title       string   `json:"title"`
	Explanation string   `json:"explanation"`
	HTML        string   `json:"html"`  // the story, both sides marked; no script, all text escaped
	Marks       []choice `json:"marks"` // choices of the question about sentences
}

// choice is one dynamic choice.
type choice struct {
	Value string `json:"value"`
}

func writeTasks(w io.Writer, items []Item) error {
	tasks := make([]task, len(items))
	for i, it := range items {
		d := taskData{ExampleID: it.ExampleID, TextHash: it.TextHash, Title: it.Title, Explanation: it.Explanation, Marks: []choice{}}
		var b strings.Builder
		b.WriteString(`<div style="white-space: pre-wrap">`)
		for _, p := range it.parts() {
			switch p.Set {
			case "":
				b.WriteString(html.EscapeString(p.Text))
			case setError:
				b.WriteString(`<mark style="background:#ffd2c2">` + html.EscapeString(p.Text) + "</mark>")
			default:
				b.WriteString(`<mark style="background:#cfe6ff">` + html.EscapeString(p.Text) + "</mark>")
			}
		}
		b.WriteString("</div>")
		d.HTML = b.String()
		for _, s := range it.Sentences {
			d.Marks = append(d.Marks, choice{s.mark() + ": " + oneLine(s.Text)})
		}
		tasks[i] = task{d}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(tasks)
}

// LabelConfig is the labelling interface that the tasks are made for.
func LabelConfig() string { return labelConfig }

const labelConfig = `<View>
  <Header value="$title"/>
  <Text name="claim" value="$explanation"/>
  <HyperText name="story" value="$html"/>
  <Header value="Does the story have this error? Its lines are marked red, the earlier ones that they contradict blue."/>
  <Choices name="valid" toName="story" choice="single" required="true">
    <Choice value="Valid"/>
    <Choice value="Not valid"/>
    <Choice value="Cannot say"/>
  </Choices>
  <Header value="Which of the marked sentences do not belong to it?"/>
  <Choices name="wrong" toName="story" choice="multiple" value="$marks"/>
  <TextArea name="reason" toName="story" placeholder="Why? (may stay empty)" maxSubmissions="1"/>
</View>
`
