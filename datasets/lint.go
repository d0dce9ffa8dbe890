// SPDX-License-Identifier: Apache-2.0

package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/retcon-bench/retcon/internal/text"
	"github.com/retcon-bench/retcon/schemas"
)

var (
	semVer   = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	isoDate  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	guid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	dataName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// shape says that a manifest has what card and sidecars are made of: a config,
// a split in each, a file in each of those.
func shape(m schemas.Manifest) error {
	if len(m.Configs) == 0 {
		return errors.New("it has no config")
	}
	for _, c := range m.Configs {
		if len(c.Splits) == 0 {
			return fmt.Errorf("config %q has no split", c.Name)
		}
		for _, s := range c.Splits {
			if len(s.Files) == 0 {
				return fmt.Errorf("%s/%s has no file", c.Name, s.Name)
			}
		}
	}
	return nil
}

// CheckManifest checks what a manifest says on its own: names that load
// everywhere, version, date and canary, and that its parts repeat each other
// rightly.
func CheckManifest(m schemas.Manifest) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := shape(m); err != nil {
		errs = append(errs, err)
	}
	if !dataName.MatchString(m.Name) || m.Name != m.Recipe.Name {
		bad("name %q is no name, or not the recipe's", m.Name)
	}
	if !semVer.MatchString(m.Version) || m.Version != m.Recipe.Version {
		bad("version %q is no SemVer, or not the recipe's", m.Version)
	}
	if !isoDate.MatchString(m.Date) || m.Date != m.Recipe.Date {
		bad("date %q is no date, or not the recipe's", m.Date)
	}
	if !guid.MatchString(m.Canary) || m.Canary != m.Recipe.Canary {
		bad("canary %q is no GUID, or not the recipe's", m.Canary)
	}
	if hash, err := RecipeHash(m.Recipe); err != nil || hash != m.RecipeHash {
		bad("recipe_hash is %s but the recipe's is %s", m.RecipeHash, hash)
	}
	switch {
	case m.State != schemas.StateComplete && m.State != schemas.StatePartial:
		bad("state is %q", m.State)
	case m.State == schemas.StatePartial && !m.Recipe.Release.AllowPartial:
		bad("state is partial, which the recipe does not allow")
	}
	drops := map[string]int{}
	for _, s := range m.Steps {
		n := 0
		for _, r := range s.Reasons {
			drops[r.Name] += r.N
			n += r.N
		}
		if n != s.Dropped {
			bad("step %s set %d records aside but gives reasons for %d", s.Step, s.Dropped, n)
		}
	}
	for _, d := range m.Drops {
		if drops[d.Name] != d.N {
			bad("drops say %d for %s, the steps %d", d.N, d.Name, drops[d.Name])
		}
		delete(drops, d.Name)
	}
	for name, n := range drops {
		bad("drops lack %s, for which a step set %d records aside", name, n)
	}
	seen := map[string]bool{}
	for _, c := range m.Configs {
		for _, s := range c.Splits {
			for _, n := range []string{c.Name, s.Name} {
				if err := checkName(n); err != nil {
					errs = append(errs, err)
				}
			}
			if seen[c.Name+"/"+s.Name] {
				bad("config %s: split %s stands twice", c.Name, s.Name)
			}
			seen[c.Name+"/"+s.Name] = true
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }) // drops come from a map
	return errors.Join(errs...)
}

// checkName checks a name of a config or split and suggests one that loads.
func checkName(n string) error {
	if SplitName.MatchString(n) {
		return nil
	}
	hint := ""
	if fixed := strings.NewReplacer("-", "_", " ", "_").Replace(n); SplitName.MatchString(fixed) {
		hint = fmt.Sprintf(" (try %s)", fixed)
	}
	return fmt.Errorf("name %q: only letters, digits, _ and inner dots load everywhere%s", n, hint)
}

// frontMatter cuts the YAML off the top of a card.
func frontMatter(card []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(card, []byte("---\n"))
	if !ok {
		return nil, errors.New("it does not start with a line ---")
	}
	head, _, ok := bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		return nil, errors.New("its YAML is not ended by a line ---")
	}
	return head, nil
}

// card checks the card's YAML against manifest, files and counted rows: a hub
// reads the YAML, not the manifest, and the datasets library refuses a split
// whose count is wrong.
func (v *verifier) card() {
	if _, ok := v.files[CardFile]; !ok {
		return // verifySums or the manifest has said so, or sidecars will
	}
	say := func(format string, args ...any) { v.problem(CardFile, format, args...) }
	raw, err := readCapped(v.Dir, CardFile)
	if err != nil {
		say("%v", err)
		return
	}
	head, err := frontMatter(raw)
	if err != nil {
		say("%v", err)
		v.strays(nil)
		return
	}
	var got cardHeader
	if err := unmarshalYAML(head, &got); err != nil {
		say("its YAML cannot be read: %v", err)
		return
	}
	if len(got.Configs) == 0 {
		say("it has no configs: a hub would make splits of whatever data files it finds")
	}
	v.strays(got.Configs)
	want, err := header(v.Manifest, v.summary)
	if err != nil {
		say("%v", err)
		return
	}
	defaults := 0
	for _, c := range got.Configs {
		if c.Default {
			defaults++
		}
		if err := checkName(c.Name); err != nil {
			say("config %v", err)
		}
		if !slices.ContainsFunc(want.Configs, func(w cardConfig) bool { return w.Name == c.Name }) {
			say("config %s is not in the manifest", c.Name)
		}
		for _, f := range c.Files {
			if err := checkName(f.Split); err != nil {
				say("config %s: split %v", c.Name, err)
			}
			for _, p := range f.Path {
				if _, ok := v.files[p]; !ok {
					say("config %s, split %s: there is no file %s", c.Name, f.Split, p)
				}
			}
		}
	}
	if defaults != 1 && len(got.Configs) > 0 {
		say("%d configs are the default, there must be one", defaults)
	}
	info := map[string]cardInfo{}
	for _, d := range got.DatasetInfo {
		info[d.Name] = d
	}
	for i, c := range want.Configs {
		if !slices.ContainsFunc(got.Configs, func(g cardConfig) bool { return g.Name == c.Name }) {
			say("config %s is missing", c.Name)
		} else if at := slices.IndexFunc(got.Configs, func(g cardConfig) bool { return g.Name == c.Name }); !reflect.DeepEqual(got.Configs[at].Files, c.Files) {
			say("config %s: its splits and paths are not those of the manifest", c.Name)
		}
		d, ok := info[c.Name]
		if !ok {
			say("dataset_info has no config %s", c.Name)
			continue
		}
		if a, b := yamlText(d.Features), yamlText(want.DatasetInfo[i].Features); a != b {
			say("dataset_info of %s: features are not those of the files: %s", c.Name, firstDifference(b, a))
		}
		if len(d.Splits) != len(c.Files) {
			say("dataset_info of %s lists %d splits, there are %d", c.Name, len(d.Splits), len(c.Files))
		}
		for _, s := range d.Splits {
			if n, ok := v.rows[c.Name+"/"+s.Name]; !ok || v.complete && n != s.NumRows {
				say("dataset_info of %s says %d rows in split %s, its files hold %d", c.Name, s.NumRows, s.Name, n)
			}
		}
	}
	if got.Licence != want.Licence || got.LicenceName != want.LicenceName {
		say("its licence is %q %q, the manifest's corpora give %q %q", got.Licence, got.LicenceName, want.Licence, want.LicenceName)
	}
	if !bytes.Contains(raw, []byte(v.Manifest.Canary)) {
		say("it does not name the canary")
	}
}

// strays names files that a hub would take for data: all of them where the
// card has no configs.
func (v *verifier) strays(configs []cardConfig) {
	if len(configs) > 0 {
		return
	}
	for _, n := range sortedPaths(v.files) {
		dir, file := path.Split(n)
		if n == CardFile || n == ManifestFile || n == SumsFile || n == gitAttributes || v.isSidecar(n) {
			continue
		}
		split := strings.Trim(dir, "/")
		if at := strings.LastIndexByte(split, '/'); at >= 0 {
			split = split[at+1:]
		}
		if split == "" {
			split = strings.TrimSuffix(file, path.Ext(file))
		}
		v.problem(n, "without configs in %s this file would become a split called %s", CardFile, split)
	}
}

// sidecars makes each file that follows from manifest and rows again, and
// compares. It can do so only for a release of this very version; one of
// another has its own wording.
func (v *verifier) sidecars() {
	if !v.ours {
		v.rep.note("made by %s: card and sidecars were checked for their counts, not word by word as %s would write them", v.Manifest.Generator, "retcon "+Version)
		for _, s := range sidecars(v.Manifest) {
			if _, ok := v.files[s.name]; !ok {
				v.problem(s.name, "the file is missing")
			}
		}
		return
	}
	if !v.complete {
		v.rep.note("not all rows could be read, so card and sidecars were not compared with them")
		return
	}
	in := sidecarInput{Manifest: v.Manifest, rows: v.summary}
	data := map[string]bool{ManifestFile: true}
	for _, f := range v.Manifest.Files {
		data[f.Path] = true
	}
	for _, n := range sortedPaths(v.files) {
		if data[n] {
			in.files = append(in.files, v.files[n])
		}
	}
	for _, s := range sidecars(v.Manifest) {
		var want bytes.Buffer
		if err := s.writeSafely(&want, in); err != nil {
			v.problem(s.name, "it cannot be made again: %v", err)
			continue
		}
		h, ok := v.files[s.name]
		if !ok {
			v.problem(s.name, "the file is missing")
			continue
		}
		in.add(h)
		got, err := readCapped(v.Dir, s.name)
		if err != nil {
			v.problem(s.name, "%v", err)
		} else if !bytes.Equal(got, want.Bytes()) {
			v.problem(s.name, "it is not what manifest and rows give: %s", firstDifference(want.String(), string(got)))
		}
	}
}

// writeSafely is write for a manifest that nobody has vouched for.
func (s sidecar) writeSafely(w io.Writer, in sidecarInput) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the manifest does not hold together: no %s can be made of it", s.name)
		}
	}()
	return s.write(w, in)
}

func (v *verifier) isSidecar(name string) bool {
	return slices.ContainsFunc(sidecars(v.Manifest), func(s sidecar) bool { return s.name == name })
}

func unmarshalYAML(b []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil { // a parser of damaged bytes that is not ours
			err = errors.New("damaged YAML: its parser breaks off")
		}
	}()
	return yaml.UnmarshalWithOptions(b, v, yaml.Strict(), yaml.UseOrderedMap())
}

func yamlText(v any) string {
	b, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ResidueOf looks for traces of Project Gutenberg in every text of a row that
// people read. Where a row comes from (its source) may be named.
func ResidueOf(e schemas.Example) (found, column string, line int) {
	columns := []struct {
		name string
		text *string
	}{
		{"story", &e.Story}, {"title", &e.Title}, {"fact", e.Fact}, {"counterfactual", e.Counterfactual},
		{"explanation", e.Explanation}, {"cont_error_expl", &e.ContErrorExpl},
	}
	for _, c := range columns {
		if c.text != nil {
			if found, line = Residue(*c.text); found != "" {
				return found, c.name, line
			}
		}
	}
	for _, ed := range e.Edits {
		if found, line = Residue(ed.Old); found != "" {
			return found, "edits", line
		}
	}
	return "", "", 0
}

// checkFrozenColumns checks that no column holds what JSON or a terminal
// cannot: every string is valid UTF-8 in NFC without control characters.
func checkFrozenColumns(e schemas.Example) error {
	for _, c := range []struct {
		name string
		text *string
	}{{"title", &e.Title}, {"explanation", e.Explanation}, {"fact", e.Fact}, {"counterfactual", e.Counterfactual}} {
		if c.text != nil {
			if err := text.CheckFrozen(*c.text); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}
