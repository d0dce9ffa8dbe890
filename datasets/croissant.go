// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/retcon-bench/retcon/schemas"
)

// croissantContext is the JSON-LD context of Croissant 1.1, key by key as the
// format's own examples have it. A context of one's own makes readers warn or
// fail.
var croissantContext = ordered{
	{"@language", "en"},
	{"@vocab", "https://schema.org/"},
	{"arrayShape", "cr:arrayShape"},
	{"citeAs", "cr:citeAs"},
	{"column", "cr:column"},
	{"conformsTo", "dct:conformsTo"},
	{"containedIn", "cr:containedIn"},
	{"cr", "http://mlcommons.org/croissant/"},
	{"rai", "http://mlcommons.org/croissant/RAI/"},
	{"data", ordered{{"@id", "cr:data"}, {"@type", "@json"}}},
	{"dataType", ordered{{"@id", "cr:dataType"}, {"@type", "@vocab"}}},
	{"dct", "http://purl.org/dc/terms/"},
	{"description", ordered{{"@container", "@language"}}},
	{"equivalentProperty", "cr:equivalentProperty"},
	{"examples", ordered{{"@id", "cr:examples"}, {"@type", "@json"}}},
	{"extract", "cr:extract"},
	{"field", "cr:field"},
	{"fileProperty", "cr:fileProperty"},
	{"fileObject", "cr:fileObject"},
	{"fileSet", "cr:fileSet"},
	{"format", "cr:format"},
	{"includes", "cr:includes"},
	{"isArray", "cr:isArray"},
	{"isLiveDataset", "cr:isLiveDataset"},
	{"jsonPath", "cr:jsonPath"},
	{"key", "cr:key"},
	{"md5", "cr:md5"},
	{"name", ordered{{"@container", "@language"}}},
	{"parentField", "cr:parentField"},
	{"path", "cr:path"},
	{"recordSet", "cr:recordSet"},
	{"references", "cr:references"},
	{"regex", "cr:regex"},
	{"repeated", "cr:repeated"},
	{"replace", "cr:replace"},
	{"samplingRate", "cr:samplingRate"},
	{"sc", "https://schema.org/"},
	{"separator", "cr:separator"},
	{"source", "cr:source"},
	{"subField", "cr:subField"},
	{"transform", "cr:transform"},
}

// writeCroissant writes the Croissant 1.1 description: a FileObject with its
// hash for every shard, a RecordSet for every config, structs and lists of
// structs as sub-fields, and the fields of responsible use (RAI).
func writeCroissant(w io.Writer, in sidecarInput) error {
	m := in.Manifest
	_, _, link := licence(m)
	licenceURL := hubLicenceURL(m)
	if licenceURL == "" || link != "" {
		licenceURL = "LICENSE"
	}
	var creators []any
	for _, a := range authors(m) {
		if a.Name != "" {
			creators = append(creators, ordered{{"@type", "Organization"}, {"name", a.Name}})
		} else {
			creators = append(creators, ordered{{"@type", "Person"}, {"name", a.Given + " " + a.Family}})
		}
	}
	doc := ordered{
		{"@context", croissantContext},
		{"@type", "Dataset"},
		{"conformsTo", []string{"http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"}},
		{"name", m.Name},
		{"alternateName", title(m)},
		{"description", strings.TrimSpace(m.Recipe.Description + " " + evaluationOnly(m))},
		{"version", m.Version},
		{"datePublished", m.Date},
		{"license", licenceURL},
		{"citeAs", bibTeX(m)},
		{"creator", creators},
		{"inLanguage", languages(in.rows)},
		{"keywords", []string{"story consistency", "plot holes", "evaluation"}},
		{"isLiveDataset", false},
		{"identifier", "urn:uuid:" + strings.ToLower(m.Canary)},
	}
	if r := m.Recipe.Release.Repository; r != "" {
		doc = append(doc, ordered{{"url", hubURL(r)}}...)
	}
	doc = append(doc, rai(in)...)

	var distribution, records []any
	for _, c := range m.Configs {
		n := 0
		for _, s := range c.Splits {
			for _, f := range s.Files {
				n++
				distribution = append(distribution, ordered{{"@type", "cr:FileObject"}, {"@id", f.Path}, {"name", f.Path},
					{"description", fmt.Sprintf("%d rows of config %s, split %s.", f.Rows, c.Name, s.Name)},
					{"contentUrl", f.Path}, {"contentSize", fmt.Sprintf("%d B", f.Bytes)},
					{"encodingFormat", "application/x-parquet"}, {"sha256", f.SHA256}})
			}
		}
		// One shard is read by its FileObject, whose hash a reader checks. A
		// field can name one source only, so several shards are also a set.
		source := ordered{{"fileSet", ordered{{"@id", c.Name + "-files"}}}}
		if n == 1 {
			source = ordered{{"fileObject", ordered{{"@id", c.Splits[0].Files[0].Path}}}}
		} else {
			distribution = append(distribution, ordered{{"@type", "cr:FileSet"}, {"@id", c.Name + "-files"}, {"name", c.Name + "-files"},
				{"description", fmt.Sprintf("The %d shards of config %s.", n, c.Name)},
				{"encodingFormat", "application/x-parquet"}, {"includes", "data/" + c.Name + "/*.parquet"}})
		}
		l, err := layoutOfSchema(c.Schema)
		if err != nil {
			return fmt.Errorf("config %s: %w", c.Name, err)
		}
		docs := map[string]string{}
		if list, err := columnDocs(c.Schema); err == nil { // records without a JSON Schema have no words either
			for _, d := range list {
				docs[d[0]] = d[1]
			}
		}
		var fields []any
		for _, f := range l.root {
			fields = append(fields, croissantField(c.Name+"/"+f.name, f, source, f.name, nil, docs[f.name]))
		}
		rows := 0
		for _, s := range c.Splits {
			rows += s.Rows
		}
		records = append(records, ordered{{"@type", "cr:RecordSet"}, {"@id", c.Name}, {"name", c.Name},
			{"description", fmt.Sprintf("%d rows; schema %s.", rows, c.Schema)}, {"key", ordered{{"@id", c.Name + "/" + l.root[0].name}}}, {"field", fields}})
	}
	doc = append(doc, ordered{{"distribution", distribution}, {"recordSet", records}}...)
	return writeIndented(w, doc)
}

func writeIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// croissantField describes a column. path leads from the column to the field,
// for a reader that gets the column as nested values.
func croissantField(id string, f *field, source ordered, column string, path []string, doc string) ordered {
	name := column
	if len(path) > 0 {
		name = path[len(path)-1]
	}
	out := ordered{{"@type", "cr:Field"}, {"@id", id}, {"name", name}}
	if doc != "" {
		out = append(out, ordered{{"description", doc}}...)
	}
	elem := f
	for elem.kind == listField {
		if elem == f {
			out = append(out, ordered{{"repeated", true}}...)
		}
		elem = elem.elem
	}
	if elem.kind == groupField {
		var sub []any
		for _, c := range elem.fields {
			sub = append(sub, croissantField(id+"/"+c.name, c, source, column, append(append([]string{}, path...), c.name), ""))
		}
		return append(out, ordered{{"subField", sub}}...)
	}
	from := append(ordered{}, source...)
	from = append(from, ordered{{"extract", ordered{{"column", column}}}}...)
	if len(path) > 0 {
		from = append(from, ordered{{"transform", ordered{{"jsonPath", strings.Join(path, ".")}}}}...)
	}
	types := map[string]string{"string": "sc:Text", "bool": "sc:Boolean", "float64": "sc:Float", "int64": "sc:Integer"}
	return append(out, ordered{{"dataType", types[dtype(elem.typ)]}, {"source", from}}...)
}

// rai are the fields of the Croissant RAI vocabulary, in words that follow from
// the manifest.
func rai(in sidecarInput) ordered {
	m := in.Manifest
	var corpora []string
	for _, c := range m.Corpora {
		corpora = append(corpora, fmt.Sprintf("%s (%s, %d of %d stories kept)", c.Name, c.Licence, c.Kept, c.Read))
	}
	maker := "deterministic rules"
	if m.Recipe.Make.Engine != "rules" {
		maker = "a language model (engine " + m.Recipe.Make.Engine + ")"
	}
	tools := []string{m.Generator, "engine " + m.Recipe.Make.Engine}
	for _, mod := range m.Recipe.Make.Models {
		tools = append(tools, strings.TrimSpace("model "+mod.Name+" "+mod.Revision))
	}
	dropped := 0
	for _, d := range m.Drops {
		dropped += d.N
	}
	people := "No people judged these rows."
	if len(m.Agreement) > 0 {
		people = fmt.Sprintf("At least %d people judged each item; the majority decides. Agreement stands in manifest.json.", m.Recipe.Review.MinAnnotators)
	}
	biases := []string{"Mostly older published tales; views of their time.", "Famous sources stand in the training sets of most models."}
	if m.Recipe.Make.Engine == "rules" {
		biases = append(biases, "Plot holes made by rules are simpler than those people or models write.")
	}
	return ordered{
		{"rai:dataCollection", "Stories from: " + strings.Join(corpora, "; ") + "."},
		{"rai:dataCollectionType", []string{"Secondary Data Analysis", "Software Collection"}},
		{"rai:dataCollectionMissingData", fmt.Sprintf("%d records were set aside, each with a reason; manifest.json counts them.", dropped)},
		{"rai:dataPreprocessingProtocol", []string{"Texts are frozen (UTF-8, NFC, LF) before offsets are counted.", "Exact, near and contained duplicates are removed before splits are drawn."}},
		{"rai:dataAnnotationProtocol", "Labels and spans follow from the edit that made each row, written by " + maker + ". " + people},
		{"rai:dataAnnotationAnalysis", []string{"Leak audit: three classifiers on surface features, cross-validated by source; see manifest.json."}},
		{"rai:machineAnnotationTools", tools},
		{"rai:dataBiases", biases},
		{"rai:dataUseCases", []string{"Evaluation of story consistency.", "Not for training."}},
		{"rai:dataLimitations", append([]string{"Originals count as consistent because they were published."}, m.Notes...)},
		{"rai:dataSocialImpact", "Low: it measures reading. Changed stories are not their authors' words and must not be quoted as such."},
		{"rai:personalSensitiveInformation", []string{"Published fiction; no personal data of annotators."}},
		{"rai:dataReleaseMaintenancePlan", "SemVer of data; errors are corrected in new versions, old versions stay; retcon diff writes the change log."},
	}
}

// hubLicenceURL is the address of the data set's one licence, or empty.
func hubLicenceURL(m schemas.Manifest) string {
	id, _, _ := licence(m)
	return map[string]string{
		"cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/", "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
		"cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/", "cc-by-sa-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
		"mit": "https://opensource.org/license/mit",
	}[id]
}
