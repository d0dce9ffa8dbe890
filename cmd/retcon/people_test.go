// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retcon-bench/retcon/scoring"
)

// fillSheet lets somebody fill in a sheet: set changes the cells of a row.
func fillSheet(t *testing.T, from, to string, set func(n int, cell map[string]string)) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for n, r := range records[1:] {
		cell := map[string]string{}
		for i, c := range records[0] {
			cell[c] = r[i]
		}
		set(n, cell)
		for i, c := range records[0] {
			r[i] = cell[c]
		}
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// People answer a sample and judge claims on sheets; score prints their rows
// and the audited columns.
func TestPeopleAnswerAndReview(t *testing.T) {
	dir := t.TempDir()
	retcon := func(want int, args ...string) string {
		t.Helper()
		c := command(t, dir, args...)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, got, want, &out)
		}
		return out.String()
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	retcon(exitOK, "build", "-q")
	retcon(exitOK, "detect", "--data", "out", "--baseline", "always-yes", "--out", "yes.jsonl")
	retcon(exitOK, "detect", "--data", "out", "--baseline", "random", "--out", "random.jsonl")

	retcon(exitOK, "human", "export", "--data", "out", "--n", "10", "--out", "sheet.csv")
	if a, b := retcon(exitOK, "-q", "human", "export", "--data", "out", "--n", "10"), at("sheet.csv"); a != readString(t, b) {
		t.Error("the same seed draws another sample")
	}
	for _, who := range []string{"ann", "bob", "cyd"} {
		fillSheet(t, at("sheet.csv"), at(who+".csv"), func(n int, c map[string]string) {
			c["has_error"] = map[bool]string{true: "yes", false: "no"}[n%2 == 0]
			if who == "cyd" {
				c["has_error"] = "no"
				if n > 5 {
					c["has_error"] = "" // not done yet
				}
			}
		})
	}
	retcon(exitOK, "human", "import", "ann.csv", "bob.csv", "cyd.csv", "--out", "people.jsonl")
	out := retcon(exitOK, "score", "--data", "out", "--pred", "yes.jsonl", "--human", "people.jsonl")
	for _, want := range []string{"people: 10 rows answered by 3 annotators, 2 to 3 a row", scoring.PeopleMajority + " ", scoring.PeopleSingle + " "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	retcon(exitInput, "human", "import", "sheet.csv")
	retcon(exitUsage, "human", "import", "ann.csv", "bob.csv", "--annotator", "x")
	fillSheet(t, at("sheet.csv"), at("bad.csv"), func(n int, c map[string]string) { c["has_error"] = "maybe" })
	if out := retcon(exitInput, "human", "import", "bad.csv"); !strings.Contains(out, "bad.csv:2: ") {
		t.Errorf("prints %s", out)
	}

	preds := []string{"--pred", "yes.jsonl", "--pred", "random.jsonl"}
	retcon(exitOK, append([]string{"rereview", "export", "--data", "out", "--out", "claims.jsonl", "--sheet", "claims.csv"}, preds...)...)
	if s := readString(t, at("claims.csv")); strings.Contains(s, "always-yes") || !strings.Contains(s, "fp-") {
		t.Errorf("the sheet tells the systems, or no claims:\n%.200s", s)
	}
	accepted := ""
	for _, who := range []string{"ann", "bob", "cyd"} {
		fillSheet(t, at("claims.csv"), at(who+"-votes.csv"), func(n int, c map[string]string) {
			if c["valid"], c["kind"] = "no", "genre"; n == 0 {
				accepted = c["claim_id"]
				c["valid"], c["kind"] = "yes", ""
			}
		})
	}
	retcon(exitOK, "rereview", "import", "ann-votes.csv", "bob-votes.csv", "cyd-votes.csv", "--out", "votes.jsonl")
	score := append([]string{"score", "--data", "out", "--votes", "votes.jsonl"}, preds...)
	out = retcon(exitOK, score...)
	for _, want := range []string{"re-review of errors", "Accuracy, audited", "without the 1 rows"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var sum scoring.Report
	var parts struct{ Audit scoring.AuditReport }
	if err := json.Unmarshal([]byte(retcon(exitOK, append(score, "--json", "--resamples", "10", "--html", "page.html")...)), &parts); err != nil {
		t.Fatal(err)
	}
	sum.Audit = &parts.Audit
	if n := len(sum.Audit.Excluded); n != 1 || accepted == "" {
		t.Errorf("%d rows excluded", n)
	}
	for _, r := range sum.Audit.Rows {
		if r.Reviewed != r.Claims || r.Kinds["genre"] != r.Claims-r.Accepted {
			t.Errorf("%+v", r)
		}
	}
	// The row goes for both systems, who claimed it or not.
	for _, l := range sum.Audit.Lines {
		if l.All[0].N != l.Audited[0].N+1 {
			t.Errorf("%s: %d rows, audited %d", l.Run, l.All[0].N, l.Audited[0].N)
		}
	}
	if page := readString(t, at("page.html")); !strings.Contains(page, "Re-review") {
		t.Error("the page says nothing of the re-review")
	}
	retcon(exitInput, "score", "--data", "out", "--pred", "random.jsonl", "--votes", "people.jsonl")
}

func readString(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
