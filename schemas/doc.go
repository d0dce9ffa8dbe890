// SPDX-License-Identifier: Apache-2.0

// Package schemas answers one question: what records exist?
//
// Every other package reads and writes the types of this one, and nothing
// else crosses a package border as data. In the order in which a story meets
// them:
//
//  1. [Story]: a text as a corpus gave it, cleaned and frozen, with its
//     [Source], sections and expert facts; or a writing query.
//  2. [Dropped]: a record that was set aside, with a stage and a reason.
//  3. [Draft]: a story, one fact of its first act, and every variant made
//     from the two ([Variant]), with gold sentences.
//  4. [Example]: one released row, publishable alone.
//  5. [Prompt], [Generated], [Finding], [Diagnostic]: ConStory-Bench prompts, the stories
//     written to them, the contradictions found in stories, and stories whose
//     contradictions are known.
//  6. [Prediction], [Vote]: what a model and what people said of an example.
//  7. [StepManifest], [Manifest]: what a step and what a release did.
//  8. [Recipe]: a data set's story on one page.
//
// Names of columns, units and rules that another reader needs are in
// FORMAT.md beside this file; the JSON Schemas are in the folder jsonschema. A test finds
// drift between the three.
//
// Offsets: a field called start or end counts Unicode code points of the
// frozen text it belongs to, byte_ and utf16_ fields say what they count.
// All ranges are half-open. The package imports the standard library only.
package schemas
