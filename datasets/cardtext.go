// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/internal/report"
	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// writeCard writes the data set card: the hub's YAML, then the sections of the
// hub's template. Every number comes from the manifest or was counted in the
// rows; where nobody gave a fact, the section says so in words.
func writeCard(w io.Writer, in sidecarInput) error {
	h, err := header(in.Manifest, in.rows)
	if err != nil {
		return err
	}
	front, err := yaml.Marshal(h)
	if err != nil {
		return err
	}
	c := &cardWriter{sidecarInput: in}
	c.printf("---\n%s---\n\n# %s\n\n", front, md(title(in.Manifest)))
	c.details()
	c.uses()
	c.structure()
	c.prompts()
	c.creation()
	c.limits()
	c.contamination()
	c.maintenance()
	c.closing()
	if c.err != nil {
		return c.err
	}
	_, err = w.Write(c.Bytes())
	return err
}

type cardWriter struct {
	bytes.Buffer
	sidecarInput
	err error
}

func (c *cardWriter) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *cardWriter) table(t *report.Table) {
	if len(t.Rows) == 0 {
		c.printf("None.\n\n")
		return
	}
	if err := t.Write(c, report.Markdown); err != nil && c.err == nil {
		c.err = err
	}
	c.printf("\n")
}

// md makes a text of a recipe or a source safe inside Markdown: one line, no
// markup of its own.
func md(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "|", "\\|", "`", "'").Replace(s)
}

// orElse is s, or what is said where nobody gave one.
func orElse(s, absent string) string {
	if strings.TrimSpace(s) == "" {
		return absent
	}
	return md(s)
}

func (c *cardWriter) details() {
	m := c.Manifest
	if m.Recipe.Description != "" {
		c.printf("%s\n\n", md(m.Recipe.Description))
	}
	c.printf("Stories with plot holes whose every sentence is known, and stories without. **For evaluation only**: please do not train on it. "+
		"Canary: `%s`.\n\n", m.Canary)
	c.printf("## Dataset Details\n\n### Dataset Description\n\n")
	id, name, _ := licence(m)
	if name != "" {
		id += " (" + name + ", see LICENSE)"
	}
	c.printf("- **Curated by:** %s\n- **Language(s) (NLP):** %s\n- **License:** %s\n- **Version:** %s of %s\n- **Made by:** %s, recipe `%s`\n",
		orElse(strings.Join(m.Recipe.Release.Authors, ", "), "the contributors of "+m.Name), strings.Join(languages(c.rows), ", "), id, m.Version, m.Date, m.Generator, m.RecipeHash[:12])
	if m.State != schemas.StateComplete {
		c.printf("- **State:** %s: answers were missing for some records when it was made\n", m.State)
	}
	c.printf("\n### Dataset Sources\n\n")
	if r := m.Recipe.Release.Repository; r != "" {
		c.printf("- **Repository:** %s\n", md(r))
	}
	c.printf("- **Format:** the release is described file by file in `manifest.json`; `report/index.html` shows what is inside\n\n")
}

func (c *cardWriter) uses() {
	m := c.Manifest
	c.printf("## Uses\n\n### Direct Use\n\nMeasuring whether a reader, usually a language model, notices that a story contradicts itself, and whether it names the sentences. "+
		"Accuracy asks for the label alone; CEEval asks for the label and, on a story with an error, for one sentence that introduces it and one that it contradicts.\n\n"+
		"```python\nfrom datasets import load_dataset\n\nrows = load_dataset(%q, %q, split=%q)\nfor row in rows:\n    for span in row[\"error_spans\"]:\n        assert row[\"story\"][span[\"start\"]:span[\"end\"]] == span[\"text\"]\n```\n\n",
		repository(m), m.Configs[0].Name, m.Configs[0].Splits[0].Name)
	c.printf("Scores without any harness: `python eval/plain_score.py data/%s/%s-*.parquet predictions.jsonl`. Tasks for lm-evaluation-harness and for inspect are in `eval/`, "+
		"with the same definitions.\n\n", m.Configs[0].Name, m.Configs[0].Splits[0].Name)
	c.printf("### Out-of-Scope Use\n\nTraining, fine-tuning and prompt tuning on the test rows; judging the literary worth of a text; judging real authors by the changed versions of their stories, " +
		"which are not theirs. A score here says nothing of factual errors about the world.\n\n")
}

// repository is what load_dataset is given.
func repository(m schemas.Manifest) string {
	if m.Recipe.Release.Repository != "" {
		return m.Recipe.Release.Repository
	}
	return "./" + m.Name
}

func (c *cardWriter) structure() {
	m := c.Manifest
	c.printf("## Dataset Structure\n\n### Configs\n\n")
	t := &report.Table{Columns: []string{"config", "split", "rows", "errors", "consistent", "sources", "wanted errors"}}
	for _, conf := range m.Configs {
		for _, s := range conf.Splits {
			var target any
			if s.Target > 0 {
				target = s.Target
			}
			if conf.Schema != "example" { // rows without a label
				t.Add("`"+conf.Name+"`", s.Name, s.Rows, nil, nil, nil, target)
				continue
			}
			t.Add("`"+conf.Name+"`", s.Name, s.Rows, s.Positives, s.Negatives, s.Groups, target)
		}
	}
	c.table(t)
	for _, s := range splits.All {
		if slices.ContainsFunc(m.Configs, func(conf schemas.ConfigInfo) bool { return conf.Name == s.Config }) {
			c.printf("- `%s`: %s\n", s.Config, s.Doc)
		}
	}
	if slices.ContainsFunc(m.Configs, func(conf schemas.ConfigInfo) bool { return conf.Name == splits.FewShot }) {
		c.printf("- `%s`: pairs for prompts, of sources that are scored nowhere.\n", splits.FewShot)
	}
	for _, conf := range m.Configs {
		if doc := sideDocs[conf.Schema]; doc != "" {
			c.printf("- `%s`: %s.\n", conf.Name, doc)
		}
	}
	for _, conf := range m.Configs {
		for _, s := range conf.Splits {
			if s.Rows == 0 {
				c.printf("- `%s` has no row in this version; the datasets library loads such a split with `streaming=True` alone.\n", conf.Name)
			}
		}
	}
	c.printf("\nA source story and everything made from it stand on one side of every cut.\n\n")
	if len(m.Hidden) > 0 {
		n := map[string]int{}
		for _, h := range m.Hidden {
			n[h.Config]++
		}
		c.printf("Besides, %d rows are hidden (", len(m.Hidden))
		for i, k := range counted(n) {
			if i > 0 {
				c.printf(", ")
			}
			c.printf("`%s` %d", k.Name, k.N)
		}
		c.printf("): `manifest.json` lists their ids with a salted hash of each row, so that anyone can check later that they were not chosen or changed afterwards.\n\n")
	}
	c.printf("### Lengths in words\n\n")
	t = &report.Table{Columns: []string{"config", "split", "n", "mean", "sd", "min", "lower quartile", "median", "upper quartile", "max"}}
	for _, conf := range m.Configs {
		for _, s := range conf.Splits {
			if w := s.Words; w != nil {
				t.Add("`"+conf.Name+"`", s.Name, w.N, fmt.Sprintf("%.1f", w.Mean), fmt.Sprintf("%.1f", w.SD), num(w.Min), num(w.Q1), num(w.Median), num(w.Q3), num(w.Max))
			}
		}
	}
	c.table(t)
	c.printf("### Columns\n\n")
	t = &report.Table{Columns: []string{"column", "meaning"}}
	docs, err := columnDocs("example")
	if err != nil && c.err == nil {
		c.err = err
	}
	for _, d := range docs {
		t.Add("`"+d[0]+"`", md(d[1]))
	}
	c.table(t)
	c.printf("Offsets `start` and `end` count Unicode code points (Python's `text[start:end]`), `byte_` and `utf16_` what they say; ranges are half-open. " +
		"An empty list says that there is nothing, null that nobody looked. Each row can be used alone; `manifest.json` has a digest of every split that does not depend on the files' encoding.\n\n")
}

func num(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// columnDocs reads names and meanings of a record's columns from its JSON
// Schema, in order.
func columnDocs(schema string) ([][2]string, error) {
	raw, err := schemas.JSONSchema(schema)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(doc.Properties))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out [][2]string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var p struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		}
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		if p.Description == "" {
			var values []string
			for _, v := range p.Enum {
				if s := fmt.Sprint(v); s != "" {
					values = append(values, s)
				}
			}
			p.Description = "one of " + strings.Join(values, ", ")
		}
		out = append(out, [2]string{fmt.Sprint(name), p.Description})
	}
	return out, nil
}

func (c *cardWriter) creation() {
	m := c.Manifest
	c.printf("## Dataset Creation\n\n### Curation Rationale\n\nA story that contradicts itself is easy to make and hard to find. Each plot hole here was made on purpose, "+
		"by changing one fact that the first act establishes, so that the sentences which clash are known and nobody has to judge afterwards. Consistent rows: %s.\n\n"+
		"### Source Data\n\n#### Data Collection and Processing\n\n", c.negatives())
	t := &report.Table{Columns: []string{"corpus", "licence", "files", "stories read", "kept"}}
	for _, u := range m.Corpora {
		t.Add(md(u.Name), md(u.Licence), u.Files, u.Read, u.Kept)
	}
	c.table(t)
	c.printf("Texts are frozen (UTF-8, NFC, line feeds) before anything is measured in them; exact, near and contained duplicates are removed before splits are drawn.\n\n")
	t = &report.Table{Columns: []string{"step", "version", "in", "out", "set aside"}}
	for _, s := range m.Steps {
		t.Add(md(s.Step), md(firstWords(s.Version, 6)), s.In, s.Out, s.Dropped)
	}
	c.table(t)
	c.printf("Records set aside, by stage and reason:\n\n")
	t = &report.Table{Columns: []string{"stage/reason", "records"}}
	for _, d := range m.Drops {
		t.Add("`"+md(d.Name)+"`", d.N)
	}
	c.table(t)
	c.printf("#### Who are the source data producers?\n\n")
	keys, credits := c.rows.credits()
	for _, k := range keys {
		c.printf("- %s, %s: %d rows. %s\n", md(k.corpus), md(k.licence), credits[k].rows, creditText(credits[k]))
	}
	if len(keys) == 0 {
		c.printf("The corpora above.\n")
	}
	c.printf("\nTitle, author, address, licence and the hash of the upstream file stand in the column `source` of each row.\n\n")

	c.printf("### Annotations\n\n#### Annotation process\n\nLabels and spans follow from how the rows were made: engine `%s`", md(m.Recipe.Make.Engine))
	for i, mod := range m.Recipe.Make.Models {
		if i == 0 {
			c.printf(", models ")
		} else {
			c.printf(", ")
		}
		c.printf("`%s`", md(strings.TrimSpace(mod.Name+" "+mod.Revision)))
	}
	c.printf(".\n\n")
	prompts := &report.Table{Columns: []string{"step", "prompt template", "SHA-256"}}
	usage := &report.Table{Columns: []string{"stage", "model", "engine", "calls", "prompt tokens", "completion tokens", "cost in US dollars"}}
	for _, s := range m.Steps {
		for _, p := range s.Templates {
			prompts.Add(md(s.Step), md(p.Name), "`"+p.SHA256[:min(16, len(p.SHA256))]+"`")
		}
		for _, u := range s.Usage {
			usage.Add(md(u.Stage), md(u.Model), md(u.Engine), u.Calls, u.PromptTokens, u.CompletionTokens, u.Cost)
		}
	}
	if len(prompts.Rows) > 0 {
		c.table(prompts)
	}
	if len(usage.Rows) > 0 {
		c.table(usage)
	}
	t = &report.Table{Columns: []string{"verification of rows", "rows"}}
	verified := map[string]int{}
	for _, s := range c.rows.splits {
		for k, n := range s.verification {
			verified[k] += n
		}
	}
	for _, v := range counted(verified) {
		t.Add("`"+v.Name+"`", v.N)
	}
	c.table(t)
	c.printf("#### Who are the annotators?\n\n")
	if len(m.Agreement) == 0 {
		c.printf("No people: no votes were used for this release.\n\n")
	} else {
		t = &report.Table{Columns: []string{"config", "shown", "kept", "raw agreement", "Fleiss' kappa", "Krippendorff's alpha"}}
		for _, a := range m.Agreement {
			t.Add("`"+a.Config+"`", a.Shown, a.Kept, optionalNumber(a.Raw), optionalNumber(a.Fleiss), optionalNumber(a.Alpha))
		}
		c.table(t)
		r := m.Recipe.Review
		c.printf("At least %d people judged each item; the majority decides.\n\n- Recruitment: %s\n- Pay: %s\n- Ethics review: %s\n- Dates: %s\n\n", r.MinAnnotators,
			orElse(r.Recruitment, "not stated"), orElse(r.Pay, "not stated"), orElse(r.Ethics, "not stated"), orElse(r.Dates, "not stated"))
	}
	c.printf("#### Personal and Sensitive Information\n\nThe stories are published fiction. Names of annotators are not in the release. Texts were not searched for what may offend; older tales hold the views of their time.\n\n")
}

// negatives lists the kinds of consistent rows that there are.
func (c *cardWriter) negatives() string {
	n := map[string]int{}
	for _, s := range c.rows.splits {
		for k, v := range s.negatives {
			n[k] += v
		}
	}
	words := map[string]string{
		schemas.VariantOriginal:       "originals",
		schemas.VariantCounterfactual: "stories rewritten as a whole",
		schemas.VariantResolved:       "plot holes explained away",
		schemas.VariantEditControl:    "edits that contradict nothing",
	}
	var out []string
	for _, k := range counted(n) {
		out = append(out, fmt.Sprintf("%s (%d)", words[k.Name], k.N))
	}
	return orElse(strings.Join(out, ", "), "none")
}

func optionalNumber(f *float64) any {
	if f == nil {
		return "n/a"
	}
	return *f
}

func firstWords(s string, n int) string {
	w := strings.Fields(s)
	if len(w) > n {
		return strings.Join(w[:n], " ") + " …"
	}
	return s
}

func creditText(c *credit) string {
	var parts []string
	for _, a := range sortedSet(c.attributions) {
		parts = append(parts, md(a))
	}
	switch {
	case len(parts) > 5 || c.more:
		return "Credits stand in LICENSE and in each row."
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	}
	return ""
}

func sortedSet(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *cardWriter) limits() {
	m := c.Manifest
	c.printf("## Bias, Risks, and Limitations\n\n")
	if m.Recipe.Make.Engine == "rules" {
		c.printf("- Plot holes were made by deterministic rules, not by a model, and checked by rules, not by people. They are simpler than those a model writes (a colour, a name, a number that changes); the set is a control and a starting point, not a replacement.\n")
	} else {
		c.printf("- Plot holes were written by a model; it may favour kinds of errors that it also finds easily.\n")
	}
	c.printf("- Originals count as consistent because they were published, not because somebody proved it.\n")
	if len(m.Corpora) > 0 {
		c.printf("- The sources are %s, mostly older tales in %s; other genres and times are not covered.\n", count(len(m.Corpora), "corpus", "corpora"), strings.Join(languages(c.rows), ", "))
	}
	c.printf("- Famous sources stand in most training sets. A model may notice a change because it knows the text, not because it reads.\n")
	for _, n := range m.Notes {
		c.printf("- %s.\n", md(strings.TrimSuffix(n, ".")))
	}
	c.printf("\nWhether surface features alone tell the label (area under the curve of the best of three classifiers, cross-validated by source; 0.5 is chance):\n\n")
	t := &report.Table{Columns: []string{"config", "sources", "AUC", "lower", "upper", "judged", "remark"}}
	for _, l := range m.Leaks {
		t.Add("`"+l.Config+"`", l.Groups, optionalNumber(l.AUC), optionalNumber(l.Lower), optionalNumber(l.Upper), yesNo(l.Judged), md(l.Why))
	}
	c.table(t)
	c.printf("### Recommendations\n\nReport accuracy together with CEEval, coverage and confidence intervals, by config; compare systems on the same version of this data set; keep the edit-control and counterfactual configs in view, since a system that flags every edited text scores well without them.\n\n")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (c *cardWriter) contamination() {
	m := c.Manifest
	c.printf("## Contamination\n\n%s It stands in the column `canary` of each row, in the footer of every Parquet file, in manifest and sidecars, and never inside a story.\n\n", md(evaluationOnly(m)))
	if len(m.Overlap) == 0 {
		return
	}
	c.printf("Compared with earlier releases, source by source and text by text:\n\n")
	t := &report.Table{Columns: []string{"against", "proof", "sources compared", "shared", "near in text", "plot holes shared", "holds"}}
	for _, o := range m.Overlap {
		t.Add(md(o.Against), o.Proof, o.Compared, o.SharedSource, o.NearText, o.SharedFlaw, yesNo(o.Holds))
	}
	c.table(t)
}

func (c *cardWriter) maintenance() {
	m := c.Manifest
	c.printf("## Maintenance\n\nVersions follow SemVer of data: PATCH, the same rows in other bytes; MINOR, rows were added; MAJOR, rows were edited, removed or moved. " +
		"`retcon diff` computes which it is and writes the change log. Errors found in rows are corrected in a new version; old versions stay as they are.\n\n")
	c.printf("`retcon verify` re-checks every byte, count and span; `SHA256SUMS` can be checked with `sha256sum -c`. `attestation.json` is an unsigned in-toto statement of how the files came about, from recipe `%s`.\n\n", m.RecipeHash[:12])
}

func (c *cardWriter) closing() {
	m := c.Manifest
	c.printf("## Citation\n\n**BibTeX:**\n\n```bibtex\n%s```\n\n**APA:**\n\n%s\n\n", bibTeX(m), md(apa(m)))
	c.printf("## Glossary\n\n- **plot hole**: two places of a story that cannot both be true, where nothing in between explains the change\n" +
		"- **source, group**: an original story and everything made from it\n- **match**: a source together with one of its facts\n" +
		"- **gold**: the sentences that introduce the error, and the earlier ones they contradict\n- **CEEval**: credit for the label together with one right sentence of each side\n\n")
	c.printf("## Dataset Card Authors\n\nMade from `manifest.json` by %s.\n\n## Dataset Card Contact\n\n", md(m.Generator))
	if r := m.Recipe.Release.Repository; r != "" {
		c.printf("The discussions of %s.\n", md(r))
	} else {
		c.printf("%s.\n", orElse(strings.Join(m.Recipe.Release.Authors, ", "), "Whoever gave you this folder; the recipe names no authors"))
	}
}

func writeLicence(w io.Writer, in sidecarInput) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Terms of %s %s\n\nTexts keep the terms of their sources. The licence of each row stands in its\ncolumn source.licence.\n\n", in.Name, in.Version)
	keys, credits := in.rows.credits()
	for _, k := range keys {
		c := credits[k]
		fmt.Fprintf(&b, "%s: %s, %d rows\n", k.corpus, k.licence, c.rows)
		if c.url != "" {
			fmt.Fprintf(&b, "  %s\n", c.url)
		}
		for _, a := range sortedSet(c.attributions) {
			fmt.Fprintf(&b, "  %s\n", strings.Join(strings.Fields(a), " "))
		}
		if c.more {
			fmt.Fprintf(&b, "  and more; all credits stand in the column source.attribution\n")
		}
	}
	if len(keys) == 0 {
		for _, c := range in.Corpora {
			fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Licence)
		}
	}
	if slices.ContainsFunc(keys, func(k creditKey) bool { return strings.HasPrefix(strings.ToUpper(k.licence), "CC-BY-SA") }) {
		b.WriteString("\nChanged versions of share-alike texts are under the licence of their source.\n")
	}
	b.WriteString("\nAnnotations (spans, labels, facts, explanations) are dedicated to the public\ndomain under CC0 1.0. https://creativecommons.org/publicdomain/zero/1.0/\n")
	fmt.Fprintf(&b, "\nFor evaluation only: this is a request, not a term of the licences above.\nCanary: %s\n", in.Canary)
	_, err := io.WriteString(w, b.String())
	return err
}

// count writes a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
