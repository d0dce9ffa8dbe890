// SPDX-License-Identifier: Apache-2.0

package schemas

// FlawKinds are the plot-hole types of the FlawedFictions paper, table A1.
var FlawKinds = []string{"continuity", "out_of_character", "factual", "impossible_event", "unresolved"}

// Category is one of ConStory-Checker's five, with its subtypes in the
// paper's order (appendix A.2).
type Category struct {
	Name     string
	Title    string
	Subtypes []Subtype
}

// Subtype is one of the 19.
type Subtype struct {
	Name  string
	Title string
	// Aliases are other keys real answers use for it: the reference's own
	// prompt asks for duration_contradictions, which its reader never finds.
	Aliases []string
}

// Column is the subtype's column name in the reference's result files.
func (c Category) Column(s Subtype) string { return c.Name + "_" + s.Name }

// Categories is the taxonomy, in the order of the paper's tables.
var Categories = []Category{
	{"timeline_plot", "Timeline & Plot Logic", []Subtype{
		{"absolute_time_contradictions", "Absolute Time Contradictions", nil},
		{"duration_timeline_contradictions", "Duration Contradictions", []string{"duration_contradictions"}},
		{"simultaneity_contradictions", "Simultaneity Contradictions", nil},
		{"causeless_effects", "Causeless Effects", nil},
		{"causal_logic_violations", "Causal Logic Violations", nil},
		{"abandoned_plot_elements", "Abandoned Plot Elements", nil},
	}},
	{"characterization", "Character Consistency", []Subtype{
		{"memory_contradictions", "Memory Contradictions", nil},
		{"knowledge_contradictions", "Knowledge Contradictions", nil},
		{"skill_power_fluctuations", "Skill or Power Fluctuations", nil},
		{"forgotten_abilities", "Forgotten Abilities", nil},
	}},
	{"world_building", "World-building & Setting", []Subtype{
		{"core_rules_violations", "Core Rules Violations", nil},
		{"social_norms_violations", "Social Norms Violations", nil},
		{"geographical_contradictions", "Geographical Contradictions", nil},
	}},
	{"factual_detail", "Factual & Detail Consistency", []Subtype{
		{"appearance_mismatches", "Appearance Mismatches", nil},
		{"nomenclature_confusions", "Nomenclature Confusions", nil},
		{"quantitative_mismatches", "Quantitative Mismatches", nil},
	}},
	{"narrative_style", "Narrative & Style", []Subtype{
		{"perspective_confusions", "Perspective Confusions", nil},
		{"tone_inconsistencies", "Tone Inconsistencies", nil},
		{"style_shifts", "Style Shifts", nil},
	}},
}

// FindSubtype returns the category and subtype called name, by its own name
// or an alias.
func FindSubtype(name string) (Category, Subtype, bool) {
	for _, c := range Categories {
		for _, s := range c.Subtypes {
			if s.Name == name {
				return c, s, true
			}
			for _, a := range s.Aliases {
				if a == name {
					return c, s, true
				}
			}
		}
	}
	return Category{}, Subtype{}, false
}

// TaskTypes are ConStory-Bench's four, in the paper's order.
var TaskTypes = []string{"generation", "continuation", "expansion", "completion"}

// ErrorKinds are the four mistakes behind a false prediction (FlawedFictions
// paper, section 5.4): motive or deception misread, entity state or time
// mis-tracked, genre convention missed, rule over-read.
var ErrorKinds = []string{"motive", "state", "genre", "over_read"}
