// SPDX-License-Identifier: Apache-2.0

package scoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retcon-bench/retcon/internal/text/texttest"
)

// TestOracleAudit finds at least what the notes on the paper name.
func TestOracleAudit(t *testing.T) {
	f, err := os.Open(filepath.Join(texttest.Oracle(t), "published_tables_all.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tables, err := ReadPublished(f)
	if err != nil {
		t.Fatal(err)
	}
	found, checks := AuditPublished(tables, PaperClaims)
	has := func(table, row, rule, printed string) bool {
		for _, f := range found {
			if f.Table == table && f.Row == row && f.Rule == rule && strings.HasPrefix(f.Printed, printed) {
				return true
			}
		}
		return false
	}
	for _, w := range [][4]string{
		{"3", "GPT-5-Reasoning", RuleText, "3.05"},
		{"3", "Claude-Sonnet-4.5", RuleText, "4.90"},
		{"B1", "Gemini-2.5-Pro", RuleTables, "0.302"},
		{"B1", "Gemini-2.5-Pro", RuleTables, "5091"},
		{"B2", "LongWriter-Zero-32B", RuleTables, "13241"},
		{"B2", "LongWriter-Zero-32B", RuleTables, "1987"},
		{"B2", "DeepSeek-R1", RuleTables, "1391"},
		{"B2", "Qwen3-Next-80B-Thinking", RuleTables, "4828"},
		{"B2", "DeepSeek-V3", RuleTables, "678"},
		{"B2", "GPT-5-Reasoning", RuleSum, "1990"},
		{"B2", "DeepSeek-V3.2-Exp", RuleSum, "2000"},
		{"B2", "DeepSeek-R1", RuleSum, "1952"},
		{"B2", "QwenLong-L1-32B", RuleSum, "2000"},
		{"B1", "Grok-4", RuleTotal, "2000"},
		{"A1", "合计", RuleText, "0.229"},
		{"A1", "合计", RuleText, "138.5"},
		{"B3", "Qwen3-4B-Instruct-2507", RuleDefinition, "1.8566"},
		{"3", "Doubao-1.6-Thinking-2507", RulePooled, "0.41"},
		{"3", "LongAlign-13B-64k", RulePooled, "0.20"},
		{"C", "合计", RuleDefinition, "6"},
	} {
		if !has(w[0], w[1], w[2], w[3]) {
			t.Errorf("not found: table %s, %s, %s, %s", w[0], w[1], w[2], w[3])
		}
	}
	count := func(table, rule string) (n int) {
		for _, f := range found {
			if f.Table == table && f.Rule == rule {
				n++
			}
		}
		return n
	}
	// The oracle's derived checks: two rows of table 3, four sums of B2. And
	// two ends of the recall the text gives, F1, and the errors found.
	if a, b, c := count("3", RulePooled), count("B2", RuleSum), count("A1", RuleText); a != 2 || b != 4 || c != 4 {
		t.Errorf("%d rows of table 3 not pooled, %d sums of B2, %d claims on A1; want 2, 4, 4", a, b, c)
	}
	for _, f := range found {
		if f.Rule == RuleCell {
			t.Errorf("a cell that is not read: %v", f)
		}
		if f.Rule != RuleTotal {
			t.Log(f)
		}
	}
	t.Logf("%d findings of %d checks (%d of totals)", len(found), checks, count("B1", RuleTotal))
}

// TestOracleAuditNumbers reads the same tables 3 and B1 as numbers: the same
// findings, but for the marks, which numbers do not carry, and tables that are
// not there.
func TestOracleAuditNumbers(t *testing.T) {
	read := func(name string) []PublishedTable {
		f, err := os.Open(filepath.Join(texttest.Oracle(t), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tables, err := ReadPublished(f)
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	var kept []PublishedTable
	for _, p := range read("published_tables_all.json") {
		if n := tableNumber(p.Caption); n == "3" || n == "B1" {
			kept = append(kept, p)
		}
	}
	plain := func(tables []PublishedTable) (out []string) {
		found, _ := AuditPublished(tables, PaperClaims)
		for _, f := range found {
			if f.Rule != RuleMark {
				out = append(out, strings.Join([]string{f.Table, f.Row, f.Rule, strings.TrimRight(f.Printed, "↑"), f.Expected}, "|"))
			}
		}
		return out
	}
	printed, numbers := plain(kept), plain(read("published_tables.json"))
	if diff := cmp.Diff(printed, numbers); diff != "" || len(numbers) < 20 {
		t.Errorf("%d findings (-printed +numbers):\n%s", len(numbers), diff)
	}
}

// A table that follows from its definitions has no finding, and the same table
// with one cell changed has that one.
func TestAuditHand(t *testing.T) {
	table := func(total, share string) []PublishedTable {
		return []PublishedTable{{Caption: "Table B2: lengths", Columns: []string{"Model", "0-1K", "1K-3K", "3K-5K", "5K-8K", "8K+", "Words", "Total"},
			Rows: [][]string{{"m", "10 (25.0%)", "20 (" + share + ")", "0", "0", "10 (25.0%)", "3,200", total}}}}
	}
	if found, checks := AuditPublished(table("40", "50.0%"), nil); len(found) != 0 || checks == 0 {
		t.Errorf("a right table: %v after %d checks", found, checks)
	}
	found, _ := AuditPublished(table("40", "51.0%"), nil)
	if len(found) != 1 || found[0].Rule != RuleShare || found[0].Column != "1K-3K" || found[0].Expected != "50" {
		t.Errorf("a wrong share: %v", found)
	}
	if found, _ := AuditPublished([]PublishedTable{{Caption: "表 5：位置", Columns: []string{"", "x", "y"},
		Rows: [][]string{{"fact", "20.0%", "50.0%"}, {"contra", "40.0%", "52.0%"}, {"gap", "19.8%", "1.95%"}}}}, nil); len(found) != 1 || found[0].Column != "x" {
		t.Errorf("a gap below the distance of the means: %v", found)
	}
	for _, bad := range []string{`{`, `{}`, `{"tables":[{"caption_zh":"x","columns":["a"],"rows":[["1","2"]]}]}`} {
		if _, err := ReadPublished(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
