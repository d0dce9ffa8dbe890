// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/schemas"
	"github.com/retcon-bench/retcon/splits"
)

// evalkit holds what goes into eval/ as it is: the scorer in plain Python, and
// the harness tasks that use it.
//
//go:embed evalkit/*.py evalkit/lm_eval/*.py
var evalkit embed.FS

var kitFiles = []string{"plain_score.py", "retcon_eval.py", "inspect_task.py", "lm_eval/utils.py"}

// harnessVersion is the version of the tasks' prompt and answer reading, which
// lm-evaluation-harness prints beside each figure.
const harnessVersion = 1

// evalSidecars are the files of eval/.
func evalSidecars(m schemas.Manifest) []sidecar {
	var out []sidecar
	for _, name := range kitFiles {
		out = append(out, sidecar{"eval/" + name, func(w io.Writer, _ sidecarInput) error {
			b, err := evalkit.ReadFile("evalkit/" + name)
			if err != nil {
				return err
			}
			_, err = w.Write(b)
			return err
		}})
	}
	var tasks []string
	for _, c := range m.Configs {
		if c.Schema != "example" || c.Name == splits.FewShot || len(c.Splits) == 0 {
			continue
		}
		task := taskName(m, c.Name)
		tasks = append(tasks, task)
		out = append(out, sidecar{"eval/lm_eval/" + task + ".yaml", func(w io.Writer, in sidecarInput) error { return writeTask(w, in.Manifest, c) }})
	}
	out = append(out, sidecar{"eval/lm_eval/" + taskName(m, "") + ".yaml", func(w io.Writer, in sidecarInput) error {
		return writeYAML(w, yaml.MapSlice{{Key: "group", Value: taskName(in.Manifest, "")}, {Key: "task", Value: tasks}})
	}}, sidecar{"eval/README.md", writeEvalReadme})
	return out
}

// taskName is a task's name in the harness, where all data sets share names.
func taskName(m schemas.Manifest, config string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(m.Name))
	if config != "" {
		name += "_" + config
	}
	return name
}

func writeYAML(w io.Writer, v any) error {
	b, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	// The harness has tags of its own, which no YAML writer knows.
	s := strings.NewReplacer(`"!function `, "!function ", `'!function `, "!function ").Replace(string(b))
	var out strings.Builder
	for line := range strings.Lines(s) {
		if strings.Contains(line, "!function ") {
			line = strings.NewReplacer(`"`, "", `'`, "").Replace(line)
		}
		out.WriteString(line)
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// writeTask writes one task of lm-evaluation-harness. A release with a
// repository is loaded from there, another from its folder.
func writeTask(w io.Writer, m schemas.Manifest, c schemas.ConfigInfo) error {
	split := c.Splits[0].Name
	t := yaml.MapSlice{{Key: "task", Value: taskName(m, c.Name)}}
	if r := m.Recipe.Release.Repository; r != "" {
		t = append(t, yaml.MapItem{Key: "dataset_path", Value: r}, yaml.MapItem{Key: "dataset_name", Value: c.Name},
			yaml.MapItem{Key: "dataset_kwargs", Value: yaml.MapSlice{{Key: "revision", Value: m.Version}}})
	} else {
		t = append(t, yaml.MapItem{Key: "dataset_path", Value: "parquet"},
			yaml.MapItem{Key: "dataset_kwargs", Value: yaml.MapSlice{{Key: "data_files", Value: yaml.MapSlice{{Key: split, Value: "data/" + c.Name + "/" + split + "-*.parquet"}}}}})
	}
	var metrics []yaml.MapSlice
	for _, name := range []string{"accuracy", "accuracy_answered", "coverage", "recall", "ceeval_pos", "ceeval_full", "true_negative_rate"} {
		metrics = append(metrics, yaml.MapSlice{{Key: "metric", Value: name}, {Key: "aggregation", Value: "mean"}, {Key: "higher_is_better", Value: true}})
	}
	return writeYAML(w, append(t, yaml.MapSlice{
		{Key: "test_split", Value: split},
		{Key: "output_type", Value: "generate_until"},
		{Key: "doc_to_text", Value: "!function utils.doc_to_text"},
		{Key: "doc_to_target", Value: "label"},
		{Key: "process_results", Value: "!function utils.process_results"},
		{Key: "num_fewshot", Value: 0},
		{Key: "generation_kwargs", Value: yaml.MapSlice{{Key: "until", Value: []string{"</response>"}}, {Key: "max_gen_toks", Value: 4096},
			{Key: "do_sample", Value: false}, {Key: "temperature", Value: 0.0}}},
		{Key: "metric_list", Value: metrics},
		{Key: "metadata", Value: yaml.MapSlice{{Key: "version", Value: harnessVersion}, {Key: "data_version", Value: m.Version}, {Key: "canary", Value: m.Canary}}},
	}...))
}

func writeEvalReadme(w io.Writer, in sidecarInput) error {
	m := in.Manifest
	config, split := m.Configs[0].Name, m.Configs[0].Splits[0].Name
	where := "Run it in the folder of this release."
	if r := m.Recipe.Release.Repository; r != "" {
		where = "It loads `" + r + "` at tag " + m.Version + "."
	}
	_, err := fmt.Fprintf(w, `# Scoring %[1]s %[2]s

For evaluation only. Canary: %[3]s

All three ways have the same definitions; a test of the project that made this
release holds them to its own scorer.

**Without a harness** (Python and pyarrow), predictions as JSON Lines with
example_id and completion, or example_id, label, error_lines, contradicted_lines:

    python eval/plain_score.py data/%[4]s/%[5]s-00000-of-*.parquet predictions.jsonl

**lm-evaluation-harness**. %[6]s

    lm_eval --include_path eval/lm_eval --tasks %[7]s --model ... --apply_chat_template

**inspect**:

    inspect eval eval/inspect_task.py --model ... -T config=%[4]s

Figures: accuracy (no answer counts as wrong), accuracy_answered and coverage;
recall and true_negative_rate; ceeval_pos: of the stories with an error, the
share where the label is right and one quoted sentence of each side is gold;
ceeval_full: the same over all rows, where a consistent story needs the label
alone. plain_score.py prints balanced_ceeval as well.
`, title(m), m.Version, m.Canary, config, split, where, taskName(m, config))
	return err
}
