// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/retcon-bench/retcon/internal/text"
)

// frozen returns the text that offsets of a judged row refer to. Source is a
// slash-separated path in the shared folder; what record means depends on the
// file, as README.md says.
func frozen(shared, source, record string) (string, error) {
	s, err := readFrozen(shared, source, record)
	if err != nil {
		return "", fmt.Errorf("%s, record %q: %w", source, record, err)
	}
	return s, nil
}

func readFrozen(shared, source, record string) (string, error) {
	data, err := os.ReadFile(filepath.Join(shared, filepath.FromSlash(source)))
	if err != nil {
		return "", err
	}
	switch path.Ext(source) {
	case ".csv":
		rows, err := sectionTexts(data)
		if err != nil {
			return "", err
		}
		return text.Freeze(strings.Join(rows, "\n\n")), nil
	case ".jsonl":
		return storyRow(data, record)
	case ".wp_source", ".wp_target":
		return lineOf(data, record)
	}
	if strings.HasPrefix(path.Base(source), "reference_") {
		return lineOf(data, record)
	}
	if record != "" {
		return "", fmt.Errorf("a plain text has no records")
	}
	return text.Freeze(text.Decode(data, "").Text), nil
}

// sectionTexts returns the second column of a FairytaleQA file, decoded row by
// row. A story is its rows joined by a blank line.
func sectionTexts(data []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1 // one file has a third, empty column
	var texts []string
	for line := 0; ; line++ {
		row, err := r.Read()
		switch {
		case err == io.EOF:
			return texts, nil
		case err != nil:
			return nil, err
		case line == 0: // the header
		case len(row) > 1:
			texts = append(texts, text.Decode([]byte(row[1]), "").Text)
		}
	}
}

// storyRow returns the story of the row with that id.
func storyRow(data []byte, record string) (string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var row struct {
			ID    json.Number `json:"id"`
			Story string      `json:"generated_story"`
		}
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return "", errors.New("no such row")
		} else if err != nil {
			return "", err
		}
		if row.ID.String() == record {
			return text.Trim(text.Freeze(row.Story)), nil
		}
	}
}

// lineOf returns a line by its number, from 1.
func lineOf(data []byte, record string) (string, error) {
	n, err := strconv.Atoi(record)
	lines := bytes.Split(data, []byte("\n"))
	if err != nil || n < 1 || n > len(lines) {
		return "", errors.New("no such line")
	}
	return text.Trim(text.Freeze(text.Decode(lines[n-1], "").Text)), nil
}

// recordIDs lists the records of a source in file order; a plain text and a
// FairytaleQA file are one record with an empty name.
func recordIDs(shared, source string) ([]string, error) {
	if path.Ext(source) != ".jsonl" {
		return []string{""}, nil
	}
	data, err := os.ReadFile(filepath.Join(shared, filepath.FromSlash(source)))
	if err != nil {
		return nil, err
	}
	var ids []string
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var row struct {
			ID    json.Number `json:"id"`
			Story string      `json:"generated_story"`
		}
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return ids, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if row.Story != "" {
			ids = append(ids, row.ID.String())
		}
	}
}
