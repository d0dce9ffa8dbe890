// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"
	"strings"

	"github.com/retcon-bench/retcon/internal/llm"
)

// verdict is a model's judgement of a prompt.
type verdict struct {
	keep   bool
	reason string
}

// judgeCalls ask whether a prompt is fit to be published. No rule can know.
var judgeCalls = perLanguage("judge", llm.Call[*work, verdict]{
	Stage:  "prompts/judge",
	Params: llm.Params{MaxTokens: 400},
	Decode: decodeVerdict,
})

// decodeVerdict reads <verdict>, which is keep or drop, and <reason>.
func decodeVerdict(r *llm.Reply, _ *work) (verdict, error) {
	t, err := r.Tag("verdict")
	if err != nil {
		return verdict{}, err
	}
	var v verdict
	switch word := strings.ToLower(strings.Trim(strings.TrimSpace(t), ".*_`\"'")); word {
	case "keep":
		v.keep = true
	case "drop":
	default:
		return verdict{}, llm.Failed(llm.ParseFailed, fmt.Sprintf("the verdict is %q, neither keep nor drop", clip(word)))
	}
	if why, err := r.Tag("reason"); err == nil {
		v.reason = strings.Join(strings.Fields(why), " ")
	}
	return v, nil
}
