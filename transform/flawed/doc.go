// SPDX-License-Identifier: Apache-2.0

// Package flawed makes plot holes whose every sentence is known: the
// FlawedFictionsMaker.
//
// [Start] makes a draft of a story; [Steps] take it further, one file a step,
// with the step's prompt in prompts/ and its question as an llm.Call: template,
// decoder and offline rule side by side. In order:
//
//	draw            the recipe's seeded share of the sources
//	acts            where acts 2 and 3 start
//	facts           what act 1 establishes, with counterfactual and evidence
//	score           how much of acts 2 and 3 hangs on each fact
//	choose          at most facts_per_source facts go on, each in its own draft;
//	                a spare one takes the place of one that gives nothing
//	rewrite         the whole story under the counterfactual: A1' A2' A3'
//	patch           the plot hole: A1 A2' A3'
//	filter          what is refused before anybody judges
//	judge           five votes on the marked lines; the gold sets
//	type            kind, severity and subtype of what came out; only where the recipe asks
//	counterfactual  does A1' A2' A3' hold together?
//	resolve         context that explains the error away, and whether it does
//	control         the same kind of edit where it contradicts nothing
//
// The last three each make one more variant of the match; when one of them
// fails the plot hole stays. Where answers are missing, all that can be asked
// is asked in the same round.
//
// With the offline engine (package offline, no model) the same calls are
// answered by rules, as text that the same decoders read and the same checks
// refuse. What no rule can know is null: importance, votes, shares. [Survey]
// is the one thing a stage knows of other stories: the names of a collection.
//
// # What changed
//
// No tag of an answer is believed. The sentences of each rewritten act are
// aligned with the source's; what differs is what changed, everything else
// keeps the source's bytes (alignAct). Each variant lists its edits against the
// source, and [Undo] gives the source back, byte for byte.
//
// # Reason codes
//
// An answer that cannot be read or used is asked for again, by a prompt that
// says what was wrong. A draft or a part of one that is set aside has the step's name as stage and
// one of these as reason. An answer that cannot be read, after the tries a
// stage has, gives its class as reason: empty, refusal, truncated,
// truncated_in_reasoning, parse_failed, echo, api_error, prompt_cut.
//
//	draw            not_drawn            not in the recipe's share
//	                not_a_story          no sentences: a query, an empty record
//	                too_short, too_long  outside min_words and max_words
//	                story_holds_marks    the story holds marks or headings of the answers' forms
//	acts            acts_not_found       the rules find no places (a model's misquoted lines are parse_failed)
//	facts           no_facts             nothing usable is left (also after score)
//	                no_counterfactual    a line without fact or counterfactual
//	                no_change            fact and counterfactual are the same
//	                repeated_fact        the fact stands twice
//	                evidence_not_found   the quoted sentence is not in act 1; the fact stays
//	                kind_not_asked       the recipe asks for other kinds
//	score           not_scored           no score from 1 to 4 under the fact's number
//	                unimportant          a score that the recipe does not keep
//	choose          not_chosen           over facts_per_source, and no spare was needed
//	rewrite         answer_too_long      max_tokens of the stage hold no such story
//	                bad_tags             <m> nests or does not pair up
//	                silent_edit          sentences changed outside every mark
//	                remark               the answer's talk around the story; the story stays
//	                noop_edit            what is marked equals the source
//	                too_different        too much changed, or gone, for a rewriting
//	                not_a_text           the result is no frozen text
//	                no_rule              a fact that the rules did not make
//	patch           act_1_touched        sentences of act 1 are cut otherwise in the patched story
//	                undo_fails           undoing the edits does not give the source
//	filter          acts_unchanged       acts 2 and 3 are the source's
//	                act_unchanged        one of them is, with strict_acts
//	                too_many_sites       over max_sites runs of changed sentences
//	                tell_tale            the text tells its nature by its form
//	                no_evidence          no sentence of act 1 holds the value
//	                value_missing        an edit does not put the new value where the old was
//	                value_left           a changed sentence keeps the old value or lacks the new
//	judge           judge_says_no        fewer than judge_need yes votes
//	                no_gold_error        no changed sentence is left
//	                no_gold_contradicted nothing before the error is contradicted
//	                quote_not_found      a vote cites what stands nowhere; the vote stays
//	type            kind_not_asked       it came out as another kind than the recipe asks for
//	counterfactual  cf_act_1_unchanged   act 1 was not rewritten
//	                cf_title             the title names what the story no longer has
//	                cf_value_left        a changed sentence keeps the old value
//	                cf_incoherent        the judge finds that it does not hold together
//	resolve         no_bridge            the rules know no place or no way
//	                bridge_place         not between the contradicted sentences and the first changed one
//	                bridge_in_speech     somebody is speaking there
//	                bridge_empty         nothing was put in
//	                still_an_error       the judge still sees the error
//	                resolved_tell_tale   as tell_tale
//	control         no_control           no detail to change
//	                control_touches_fact the edit is the flaw itself
package flawed
