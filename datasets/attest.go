// SPDX-License-Identifier: Apache-2.0

package datasets

import "io"

// buildType names how a release is built, for readers of its attestation.
const buildType = "https://github.com/retcon-bench/retcon/blob/main/schemas/FORMAT.md#a-release"

type digestSet struct {
	SHA256 string `json:"sha256"`
}

type resource struct {
	Name   string    `json:"name"`
	Digest digestSet `json:"digest"`
}

// writeAttestation writes an in-toto statement with a SLSA provenance
// predicate. It is not signed: whoever publishes signs it with their own
// tools. It has no times, since the release has none; its date is the
// recipe's.
func writeAttestation(w io.Writer, in sidecarInput) error {
	m := in.Manifest
	subject := make([]resource, 0, len(in.files))
	for _, f := range in.files {
		subject = append(subject, resource{f.Path, digestSet{f.SHA256}})
	}
	inputs := []resource{}
	for _, c := range m.Corpora {
		for _, i := range c.Inputs {
			inputs = append(inputs, resource{"corpus " + c.Name + ": " + i.Name, digestSet{i.SHA256}})
		}
	}
	for _, s := range m.Steps {
		for _, t := range s.Templates {
			inputs = append(inputs, resource{"prompt template " + s.Step + "/" + t.Name, digestSet{t.SHA256}})
		}
	}
	return writeIndented(w, ordered{
		{"_type", "https://in-toto.io/Statement/v1"},
		{"subject", subject},
		{"predicateType", "https://slsa.dev/provenance/v1"},
		{"predicate", ordered{
			{"buildDefinition", ordered{
				{"buildType", buildType},
				{"externalParameters", ordered{{"recipe", m.Recipe}, {"recipe_sha256", m.RecipeHash}}},
				{"internalParameters", ordered{{"compressor", m.Compressor}, {"logical_digest", LogicalDigest(m)}, {"canary", m.Canary}}},
				{"resolvedDependencies", inputs},
			}},
			{"runDetails", ordered{
				{"builder", ordered{{"id", "https://github.com/retcon-bench/retcon"}, {"version", ordered{{"retcon", m.Generator}}}}},
				{"metadata", ordered{{"invocationId", m.Name + "@" + m.Version}}},
			}},
		}},
	})
}
