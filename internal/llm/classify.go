// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classify reads an answer's outer form, finish reason first, and returns
// either a Reply to decode or the outcome that says why there is none. It
// looks at nothing but the request, the answer and the model's declared
// abilities, so a stored answer is classified again with the same result.
func Classify(m Model, req Request, a Answer) (*Reply, Outcome, string) {
	return classify(m, req, a, 0)
}

// classify is Classify with the quick estimate of the prompt's tokens, if there
// is one.
func classify(m Model, req Request, a Answer, rough int) (*Reply, Outcome, string) {
	if a.Error != nil {
		return nil, errorOutcome(a.Error), a.Error.Error()
	}
	finish := strings.ToLower(strings.TrimSpace(a.FinishReason))
	if strings.TrimSpace(a.Refusal) != "" {
		return nil, Refusal, "the server's refusal field is set"
	}
	switch finish {
	case "content_filter", "content-filter", "safety", "refusal", "recitation", "prohibited_content", "blocklist", "spii", "guardrail_intervened":
		return nil, Refusal, "finish reason " + finish
	case "error":
		return nil, APIError, "finish reason error"
	}
	cut := isCut(finish)
	text, reasoning, open := splitReasoning(a.Text, m.Thinking, a.Reasoning != "")
	reasoning = join(a.Reasoning, reasoning)
	switch {
	case open:
		return nil, TruncatedInReasoning, "thinking begins and never ends"
	case blank(text) && cut && (reasoning != "" || m.Thinking || a.Usage.ReasoningTokens > 0):
		return nil, TruncatedInReasoning, "finish reason " + finish + " before the answer began"
	case cut:
		return nil, Truncated, "finish reason " + finish
	case blank(text) && reasoning != "":
		return nil, Empty, "reasoning, but no content"
	case blank(text):
		return nil, Empty, "no content"
	}
	if est, cut := promptCut(req, a.Usage, rough); cut {
		return nil, PromptCut, "the prompt has about " + strconv.Itoa(est) + " tokens, the server counted " + strconv.Itoa(a.Usage.PromptTokens) +
			": raise the server's context size or declare the model's context"
	}
	if LooksLikeRefusal(text) && !structured(text) {
		return nil, Refusal, "a refusal in words"
	}
	r := &Reply{Text: strings.TrimSpace(text), Reasoning: reasoning, Request: req, Answer: a}
	if !utf8.ValidString(r.Text) {
		// Engines refuse such bytes; a store written by another hand may not.
		return nil, ParseFailed, "the answer is not valid UTF-8"
	}
	if finish == "" {
		r.notes = append(r.notes, "no finish reason")
	}
	return r, OK, ""
}

// isCut reports whether a finish reason means that the answer is not whole.
func isCut(finish string) bool {
	switch finish {
	case "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "model_context_window_exceeded", "incomplete", "abort", "cancelled", "canceled":
		return true
	}
	return false
}

// errorOutcome classes a failure that belongs to the request itself.
func errorOutcome(e *CallError) Outcome {
	switch e.Code {
	case "content_filter", "content_policy_violation", "moderation_blocked", "content_management_policy", "ResponsibleAIPolicyViolation":
		return Refusal
	}
	return APIError
}

// blank reports whether a text shows nothing: white space, zero-width signs,
// or an end-of-text mark that the server forgot to take off.
func blank(s string) bool {
	for i, r := range s {
		switch {
		case r == '\u200b' || r == '\u200c' || r == '\u200d' || r == '\u2060' || r == '\ufeff' || r == 0 || unicode.IsSpace(r):
			continue
		case r == '<' && len(s)-i < 40:
			switch strings.TrimSpace(s[i:]) {
			case "<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>", "<eos>":
				return true
			}
		}
		return false
	}
	return true
}

// structured reports whether a text has the marks of an answer in form.
func structured(s string) bool {
	if strings.ContainsAny(s, "{[") {
		return true
	}
	i := strings.IndexByte(s, '<')
	return i >= 0 && strings.IndexByte(s[i:], '>') > 0
}
