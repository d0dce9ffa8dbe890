// SPDX-License-Identifier: Apache-2.0

package text

import "encoding/json"

// QuoteField reads a quote as models write it into a field of their JSON: a
// text, a number, an object with the quote in one of the fields inside (the
// first that holds one), or a list of these, whose texts are pieces of one
// quote. A text for which nothing is true is none.
func QuoteField(raw json.RawMessage, inside []string, nothing func(string) bool) []string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if nothing(s) { // null too
			return nil
		}
		return []string{s}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var out []string
		for _, l := range list {
			out = append(out, QuoteField(l, inside, nothing)...)
		}
		return out
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) == nil {
		for _, k := range inside {
			if p := QuoteField(obj[k], inside, nothing); p != nil {
				return p
			}
		}
		return nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil && n != "" {
		return []string{n.String()}
	}
	return nil
}
