#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy and CEEval in plain Python, without any harness.

    python plain_score.py ROWS PREDICTIONS [--items]

ROWS is a Parquet file of one config (needs pyarrow) or the same rows as JSON
Lines. PREDICTIONS is JSON Lines: our prediction records (example_id, label,
error_lines, contradicted_lines, ...), or raw answers (example_id, completion,
and finish_reason if known). The figures are those of the `default` scorer, one
JSON object a system; --items prints one object a row instead.

To use it from your own code: prepare(row), read_answer(text), judge(row,
prediction), figures(verdicts).
"""
import bisect
import collections
import json
import math
import re
import sys
import unicodedata

MIN_WORDS, MAX_PLACES, MAX_SENTENCES = 4, 3, 5

# --- Words: what is compared. ------------------------------------------------

APOSTROPHES = "'’‘ʼ`´′‛＇"
IGNORABLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
GUARDED = set("""
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
billion dozen score half quarter
once twice thrice first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth fortieth
fiftieth sixtieth seventieth eightieth ninetieth hundredth thousandth
no not never none nobody nothing nowhere neither nor without cannot nay
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt shant shouldnt cant couldnt
mustnt mightnt neednt oughtnt darent aint
nicht kein keine keinen keinem keiner nie niemals niemand nichts nein ohne ne pas jamais rien sans non nunca
jamás nadie nada sin mai nessuno niente senza
不 没 沒 無 无 未 非 莫 勿 別 别 一 二 兩 两 三 四 五 六 七 八 九 十 百 千 萬 万 半""".split())


def invisible(c):
    """Zero-width characters, soft hyphens, direction marks, variation selectors."""
    n = ord(c)
    if n < 0xAD:
        return False
    return (unicodedata.category(c) == "Cf" or n in IGNORABLE or 0x180B <= n <= 0x180F
            or 0xFE00 <= n <= 0xFE0F or 0xE0100 <= n <= 0xE01EF)


def is_cjk(c):
    n = ord(c)
    return (0x3040 <= n <= 0x30FF and n != 0x30FB or 0x3400 <= n <= 0x4DBF or 0x4E00 <= n <= 0x9FFF
            or 0xF900 <= n <= 0xFAFF or 0x20000 <= n <= 0x323AF)


def is_word_char(c):
    return unicodedata.category(c)[0] in "LN"


def fold(s):
    """Without invisible characters, one apostrophe, NFKC, lower case."""
    s = "".join("'" if c in APOSTROPHES else c for c in s if not invisible(c))
    return "".join(c.lower()[0] for c in unicodedata.normalize("NFKC", s))


def words(s):
    """Runs of letters, digits and marks; an ideograph or a kana is a word."""
    out, word = [], ""
    for c in fold(s):
        kind = unicodedata.category(c)[0]
        if c == "'":
            continue
        if is_cjk(c):
            out += [word, c]
            word = ""
        elif kind in "LN" or kind == "M" and word:
            word += c
        elif kind != "M":
            out.append(word)
            word = ""
    return [w for w in out + [word] if w]


def is_guarded(word):
    """Numbers and negations, which fuzzy matching must not change."""
    return word in GUARDED or any(unicodedata.category(c)[0] == "N" for c in word)


# --- Sentences: what a quote names. ------------------------------------------

BREAK_TAG = re.compile(r"(?i)</?(?:li|ul|ol|p|br|line|lines|item|quote)[ \t]*/?>")
TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9_]{0,30}[ \t]*/?>")
ELLIPSIS = re.compile(r"\.(?:[ \t]*\.){2,}|…|⋯")
LIST_MARK = re.compile(r"^[ \t*•–—-]*(?:[(\[]?[0-9]{1,3}[.):\]]"
                       r"|(?i:line|sentence|paragraph)s?[ \t][0-9]{1,3}[.:)]?)[ \t]*")


def prepare(row):
    """The parts of a row that scoring needs, ready to be searched."""
    sentences = [words(row["story"][s["start"]:s["end"]]) for s in row["sentences"]]
    stream = [w for s in sentences for w in s]
    starts = [0]
    for s in sentences:
        starts.append(starts[-1] + len(s))
    offsets, at = [], 0
    for w in stream:
        offsets.append(at)
        at += len(w) + 1
    gold = [sorted({s["sentence"] for s in row[key] or []}) for key in ("error_spans", "contradicted_spans")]
    return {
        "id": row["example_id"], "hash": row.get("text_hash"), "error": row["label"] == "error", "gold": gold, "sentences": sentences,
        "starts": starts, "text": " " + " ".join(stream) + " ", "offsets": offsets,
        "guards": [[w for w in s if is_guarded(w)] for s in sentences],
    }


def once(items):
    return list(dict.fromkeys(items))


def verbatim(row, q):
    """Sentences in which the quote stands: None = nowhere, [] = in too many."""
    if len(q) < MIN_WORDS:
        found = [i for i, s in enumerate(row["sentences"]) if q and s == q]
        return None if not found else found if len(found) <= MAX_PLACES else []
    needle, found, places, starts = " " + " ".join(q) + " ", [], set(), row["starts"]
    at = row["text"].find(needle)
    while at >= 0:
        begin = bisect.bisect_left(row["offsets"], at)
        end = begin + len(q)
        covered = []
        for i in range(bisect.bisect_right(starts, begin) - 1, len(starts) - 1):
            if starts[i] >= end:
                break
            n, whole = min(end, starts[i + 1]) - max(begin, starts[i]), starts[i + 1] - starts[i]
            if n > 0 and (n >= MIN_WORDS or n == whole):
                covered.append(i)
        if covered:
            places.add(covered[0])
            found += covered
        at = row["text"].find(needle, at + 1)
    return None if not places else once(found) if len(places) <= MAX_PLACES else []


def inside(row, q):
    """Sentences of four words or more that stand whole in the quote."""
    found = []
    for at in range(len(q) - MIN_WORDS + 1):
        here = [(len(s), i) for i, s in enumerate(row["sentences"]) if len(s) >= MIN_WORDS and q[at:at + len(s)] == s]
        longest = [i for n, i in here if n == max(here)[0]]
        if len(longest) <= MAX_PLACES:
            found += longest
    return once(found)


def lcs(a, b):
    prev = [0] * (len(b) + 1)
    for x in a:
        cur = [0]
        for j, y in enumerate(b):
            cur.append(prev[j] + 1 if x == y else max(cur[j], prev[j + 1]))
        prev = cur
    return prev[-1]


def fuzzy(row, q):
    """The best single sentence by word-LCS F1 of 0.80 or more, in whole numbers."""
    if len(q) < MIN_WORDS:
        return []
    best, best_lcs, best_sum = None, 0, 1
    guards, bag = [w for w in q if is_guarded(w)], collections.Counter(q)
    for i, s in enumerate(row["sentences"]):
        total = len(q) + len(s)
        if len(s) < MIN_WORDS or guards != row["guards"][i] or 5 * sum((bag & collections.Counter(s)).values()) < 2 * total:
            continue
        n = lcs(q, s)
        if 5 * n >= 2 * total and n * best_sum > best_lcs * total:
            best, best_lcs, best_sum = i, n, total
    return [] if best is None else [best]


def pieces(quote):
    """Parts between tags, line breaks and ellipses: (text, cut by an ellipsis)."""
    out = []
    for line in re.split(r"[\r\n]+", TAG.sub(" ", BREAK_TAG.sub("\n", quote))):
        parts = [p for p in ELLIPSIS.split(LIST_MARK.sub("", line, count=1)) if any(map(is_word_char, p))]
        out += [(p, len(parts) > 1) for p in parts]
    return [] if len(out) == 1 and out[0][0] == quote else out


def map_quote(row, quote):
    q = words(quote)
    found = verbatim(row, q)
    if found is not None:
        return found
    found, parts = inside(row, q), pieces(quote)
    if not parts:
        return found or fuzzy(row, q)
    for part, elided in parts:
        p = words(part)
        exact = verbatim(row, p)
        if exact is None:
            exact = inside(row, p) or ([] if elided else fuzzy(row, p))
        found = found + exact
    if not found and not any(elided for _, elided in parts):
        found = fuzzy(row, q)
    return once(found)


# --- Verdicts and figures. ---------------------------------------------------

USABLE = ("ok", "", "fenced", "repaired", "unclosed_tag")


def judge(row, p):
    """What the default scorer makes of a prediction (None = no prediction)."""
    answered = p is not None and p.get("outcome", "") in USABLE and p.get("label") in ("error", "consistent")
    claims = answered and p["label"] == "error"
    v = {"example_id": row["id"], "error": row["error"], "answered": answered, "claims": claims,
         "right": answered and claims == row["error"], "sides": [[], []]}
    for side, name in enumerate(("error", "contradicted") if claims else ()):
        ids = p.get(name + "_sentences")
        if ids:
            named = once(i for i in ids if 0 <= i < len(row["sentences"]))
        else:
            named = once(i for q in p.get(name + "_lines") or [] for i in map_quote(row, q))
        v["sides"][side] = named[:MAX_SENTENCES]
    v["hits"] = [bool(set(v["sides"][i]) & set(row["gold"][i])) for i in (0, 1)]
    v["full"] = v["right"] and (not row["error"] or all(v["hits"]))
    return v


def figures(verdicts):
    def share(part, whole):
        return part / whole if whole else math.nan
    n, pos = len(verdicts), sum(v["error"] for v in verdicts)
    right, answered = sum(v["right"] for v in verdicts), sum(v["answered"] for v in verdicts)
    localised = sum(v["full"] and v["error"] for v in verdicts)
    passed = sum(v["right"] and not v["error"] for v in verdicts)
    found, claimed = right - passed, sum(v["claims"] for v in verdicts)
    p, t = share(localised, pos), share(passed, n - pos)
    return {
        "accuracy": share(right, n), "accuracy_answered": share(right, answered), "coverage": share(answered, n),
        "precision": share(found, claimed), "recall": share(found, pos), "f1": share(2 * found, claimed + pos),
        "ceeval_pos": p, "ceeval_full": share(localised + passed, n),
        "true_negative_rate": t, "balanced_ceeval": 0.0 if p + t == 0 else 2 * p * t / (p + t),
    }


# --- Answers: from a completion to a prediction. -----------------------------

THINK_END = re.compile(r"(?i)</[ \t]*(?:think|thinking|thought|reasoning)[ \t]*>")
THINK_START = re.compile(r"(?i)^[ \t\r\n]*<[ \t]*(?:think|thinking|thought|reasoning)[ \t]*>")
SCRATCHPAD = re.compile(r"(?is)<[ \t]*scratchpad[ \t]*>.*?</[ \t]*scratchpad[ \t]*>")
FIELD = re.compile(r"(?i)<[ \t]*(/?)[ \t]*(response|scratchpad|explanation|error[\\_ -]{0,3}lines"
                   r"|contradicted[\\_ -]{0,3}lines|decision)[ \t]*>")
BULLET = re.compile(r"^[ \t]*(?:>[ \t]*)?(?:[*•–—-][ \t]+|[(\[]?[0-9]{1,3}[.):\]][ \t]+)?")
PLACEHOLDERS = ("na", "n a", "none", "none found", "not applicable", "no lines", "no error lines",
                "no contradicted lines", "no continuity error found", "no continuity error")
REFUSALS = ("cant help", "cannot help", "cant assist", "cannot assist", "unable to help", "unable to assist",
            "cant comply", "cannot comply", "wont be able to", "cant provide", "cannot provide",
            "cant fulfill", "cannot fulfill", "cant analyze", "cannot analyze")


def read_fields(s):
    """Tagged parts as (name, text, closed), the text outside, and whether one is open."""
    out, outside, at, current, responses = [], "", 0, "", 0
    for m in list(FIELD.finditer(s)) + [None]:
        end = m.start() if m else len(s)
        name = "" if not m else m.group(2).lower()
        name = {"c": "contradicted_lines", "e": "error_lines" if name.startswith("error") else name}.get(name[:1], name)
        closing = bool(m and m.group(1))
        still_open = bool(current) or responses > 0
        if current:
            out.append((current, s[at:end], closing and name == current))
        else:
            outside += s[at:end] + "\n"
        current = ""
        if m:
            at = m.end()
            if name == "response":
                responses += -1 if closing else 1
            elif not closing:
                current = name
    return out, outside, still_open


def quoted_lines(s):
    out = []
    for line in re.split(r"[\r\n]+", BREAK_TAG.sub("\n", s)):
        line = BULLET.sub("", line, count=1).strip(" \t")
        if line.strip(" \t*•–—-") and " ".join(words(line)) not in PLACEHOLDERS and not line.startswith("[If applicable"):
            out.append(line)
    return out


def read_answer(completion, finish=""):
    """A prediction's outcome, label and lines. What cannot be read has no label."""
    p = {"outcome": "ok", "label": "", "error_lines": None, "contradicted_lines": None}

    def fail(outcome):
        p["outcome"] = outcome
        return p
    cut = finish in ("length", "max_tokens", "model_length", "MAX_TOKENS")
    if finish in ("content_filter", "refusal", "safety", "SAFETY"):
        return fail("refusal")
    s = "".join(c for c in completion if not invisible(c))
    ends = list(THINK_END.finditer(s))
    if ends:
        s = s[ends[-1].end():]
    elif THINK_START.search(s):
        return fail("truncated_in_reasoning")
    s = SCRATCHPAD.sub("\n", s)
    if not s.strip():
        return fail("truncated" if cut else "empty")
    parts, outside, still_open = read_fields(s)
    for name in ("error_lines", "contradicted_lines"):
        texts = [text for n, text, _ in parts if n == name]
        if texts:
            p[name] = quoted_lines(texts[0])
    decisions = [(text, closed) for n, text, closed in parts if n == "decision"]
    if decisions:
        if cut and not decisions[0][1]:
            return fail("truncated")
        read = {read_decision(text) for text, _ in decisions}
        label = read.pop() if len(read) == 1 else ""
    elif cut:
        return fail("truncated")
    elif labelled_answers(fold_decision(outside)):
        label = read_decision(outside)
    elif still_open:
        return fail("truncated")
    elif len(words(s)) <= 60 and any(f" {r} " in f" {' '.join(words(s))} " for r in REFUSALS):
        return fail("refusal")
    elif len(words(s)) <= 40 and not parts:
        label = read_decision(s)
    else:
        return fail("parse_failed")
    if not label:
        return fail("parse_failed")
    p["label"] = label
    return p


# A decision is read clause by clause: see read_decision.
BREAKS = set(". , :".split())
FILLERS = set("so thus hence therefore the my final overall".split())
LABELS = set("answer decision verdict conclusion".split())
SUBJECTS = set("there i we it the this that".split())
CONTINUITY = set("issue issues problem problems flaw flaws break breaks mistake mistakes".split())
CLAUSE = set("but although though however because since while whereas yet".split())
START = set("a an the this that there is are was were one it i we yes no not".split())
FURTHER = set("other further additional more".split())
HEDGES = set("if whether may might could maybe perhaps possibly unclear unsure uncertain".split())
NEGATORS = set("""no not none never without neither nor zero 0 cannot nothing lack lacks absence absent free unable
fail fails failed dont doesnt didnt isnt arent wasnt werent hasnt havent wont cant couldnt""".split())
CERTAIN = set("doubt question only".split())
AUX = set("was were is are has have had been be can could do does did in the story this text exists exist".split())
FOUND = set("found find detected identified present exist exists occur occurs observed noted evident seen".split())


def fold_decision(s):
    s = re.sub(r"\\[a-z]+", " ", TAG.sub(" ", fold(s)))
    return re.sub(r"[ \t]-+[ \t]", " – ", s)


def clause_tokens(s):
    out, word = [], ""
    for c in s + " ":
        if c == "'":
            continue
        if unicodedata.category(c)[0] in "LNM":
            word += c
            continue
        mark = c if c in ",:" else "or" if c in "/|" else "." if c in ".;!?()—–\n\r" else ""
        out += [t for t in (word, mark) if t]
        word = ""
    return out


def has_words(tokens):
    return any(t not in BREAKS for t in tokens)


def labelled_answers(s):
    """The tokens after each "final answer:" or heading, or of the next line with a word."""
    out, lines = [], s.split("\n")
    for i, line in enumerate(lines):
        t = clause_tokens(line)
        while t and (t[0] in BREAKS or t[0] in FILLERS):
            t = t[1:]
        if not t or t[0] not in LABELS or len(t) > 1 and t[1] not in ("is", ":"):
            continue
        rest = t[2:] if t[1:2] == ["is"] else t[1:]
        for later in lines[i + 1:]:
            if has_words(rest):
                break
            rest = clause_tokens(later)
        out.append(rest)
    return out


def read_decision(s):
    """"error", "consistent", or "" for silence, both, hedges and double negation."""
    s = fold_decision(s)
    read = {decide(t) for t in labelled_answers(s) or [clause_tokens(s)]}
    return read.pop() if len(read) == 1 else ""


def decide(t):
    while t and t[0] in BREAKS:
        t = t[1:]
    if not t:
        return ""
    votes, following = set(), next((w for w in t[1:] if w not in BREAKS), "")
    if t[0] in ("yes", "no"):
        if following in ("or", "and") or following in ("yes", "no") and following != t[0]:
            return ""
        if t[0] == "yes":
            votes.add("error")
        elif len(t) == 1 or t[1] in BREAKS or t[1] in SUBJECTS:
            votes.add("consistent")
            if len(t) > 1 and t[1] in SUBJECTS:
                t = t[1:]
    elif t[0] == "none" and not has_words(t[1:]):
        votes.add("consistent")
    votes.update(mentions(t))
    return votes.pop() if len(votes) == 1 else ""


def mentions(t):
    for tier in range(4):
        out, found, i = [], False, 0
        while i < len(t):
            n, consistent = error_noun(t[i:i + 2], tier)
            if not n:
                i += 1
                continue
            found = True
            d = statement(t, i, i + n)
            if d is not None:
                out.append({"error": "consistent", "consistent": "error"}.get(d, d) if consistent else d)
            i += n
        if found:
            return out
    return []


def error_noun(t, tier):
    first, second = t[0], t[1] if len(t) > 1 else ""
    if tier == 0 and first == "continuity" and second in ("error", "errors"):
        return 2, False
    if tier == 1:
        if first in ("error", "errors", "inconsistency", "inconsistencies", "plothole", "plotholes"):
            return 1, False
        if first == "plot" and second in ("hole", "holes") or first == "continuity" and second in CONTINUITY:
            return 2, False
    if tier == 2 and first in ("contradiction", "contradictions"):
        return 1, False
    if tier == 3 and first in ("inconsistent", "consistent"):
        return 1, first == "consistent"
    return 0, False


def statement(t, start, end):
    """What the clause around t[start:end] says; None for "no other errors"."""
    negations, fresh = 0, False
    for i in range(start - 1, -1, -1):
        w, after = t[i], t[i + 1] if i + 1 < len(t) else ""
        if w in (".", ":") or w in CLAUSE:
            break
        if w in (",", "and", "or"):
            if fresh:
                break
            continue
        fresh = fresh or w in START
        if start - i <= 2 and w in FURTHER:
            return None
        if w in HEDGES and after not in NEGATORS:
            return ""
        if w in NEGATORS and after not in CERTAIN:
            negations += 1
    rest = t[end:]
    for w in rest:
        if w in BREAKS:
            break
        if w in ("if", "unless"):
            return ""
    i = 0
    while i < len(rest) and rest[i] in AUX:
        i += 1
    if rest and rest[0] == "free":
        negations += 1
    elif i < len(rest) and rest[i] in NEGATORS:
        for w in rest[i + 1:i + 4]:
            if w in BREAKS:
                break
            if w in FOUND:
                negations += 1
                break
    elif i < len(rest) and rest[i] in BREAKS:
        clause = []
        for w in rest[i:]:
            if w in BREAKS and clause:
                break
            if w not in BREAKS:
                clause.append(w)
        if " ".join(clause) in ("no", "none", "not found", "none found", "absent"):
            negations += 1
    return {0: "error", 1: "consistent"}.get(negations, "")


# --- Files. ------------------------------------------------------------------

def read_rows(path):
    if path.endswith(".parquet"):
        import pyarrow.parquet
        yield from pyarrow.parquet.read_table(path).to_pylist()
    else:
        yield from read_lines(path)


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def main(rows_path, predictions_path, items=False):
    rows = {r["example_id"]: prepare(r) for r in read_rows(rows_path)}
    systems = collections.defaultdict(dict)
    for p in read_lines(predictions_path):
        if p["example_id"] not in rows:
            sys.exit(f"{predictions_path}: {rows_path} holds no row {p['example_id']}")
        if p.get("text_hash") not in (None, "", rows[p["example_id"]]["hash"]):
            sys.exit(f"{predictions_path}: {p['example_id']} was answered on another text (text_hash differs)")
        if "completion" in p:
            p = {**p, **read_answer(p["completion"], p.get("finish_reason", ""))}
        run = systems[p.get("model", ""), p.get("prompt", "")]
        key = p.get("sample", 0), p["example_id"]
        if key in run:
            sys.exit(f"{predictions_path}: two predictions of {key[1]}, sample {key[0]}")
        run[key] = p
    for (model, prompt), run in sorted(systems.items()):
        samples = sorted({sample for sample, _ in run})
        verdicts = [judge(row, run.get((s, i))) for s in samples for i, row in rows.items()]
        if items:
            for v in verdicts:
                print(json.dumps({"model": model, "prompt": prompt, **v}))
        else:
            f = {k: None if math.isnan(v) else v for k, v in figures(verdicts).items()}
            print(json.dumps({"model": model, "prompt": prompt, "rows": len(verdicts), **f}))


if __name__ == "__main__":
    args = [a for a in sys.argv[1:] if a != "--items"]
    if len(args) != 2:
        sys.exit(__doc__)
    main(*args, items="--items" in sys.argv)
