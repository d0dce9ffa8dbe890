# SPDX-License-Identifier: Apache-2.0
"""Runs the harness tasks of a release on made-up answers, by the real harnesses.

    python harness.py RELEASE

Needs pyarrow, and inspect-ai or lm_eval (what is not installed is skipped, and
said so). Answers are right, wrong, half right or unreadable by turns; each
harness must give the figures that eval/plain_score.py gives.
"""
import collections
import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")


def answer(row, turn):
    """A completion for a row."""
    def form(error, contradicted, decision):
        return (f"<response>\n<explanation>\nx\n</explanation>\n\n<error_lines>\n{error}\n</error_lines>\n\n"
                f"<contradicted_lines>\n{contradicted}\n</contradicted_lines>\n\n<decision>\n{decision}\n</decision>\n")
    gold = [(row[k] or [{"text": ""}])[0]["text"] for k in ("error_spans", "contradicted_spans")]
    first = row["sentences"][0]
    lead = row["story"][first["start"]:first["end"]]
    return [
        form(*gold, "Continuity error found" if row["label"] == "error" else "No continuity error found"),
        form(gold[0], "", "Continuity error found"),
        form("", "", "No continuity error found"),
        "I could not decide.",
        form(lead, lead, "Continuity error found"),
    ][turn % 5]


def same(name, got, want):
    bad = 0
    for k, w in want.items():
        g = got.get(k)
        none = g is None or isinstance(g, float) and math.isnan(g)
        if none != (w is None) or not none and abs(g - w) > 1e-9:
            print(f"wrong: {name}: {k} is {g}, plain_score.py gives {w}", file=sys.stderr)
            bad += 1
    return bad


def with_inspect(release, config, rows, answers, want):
    import tempfile

    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    sys.path.insert(0, str(release / "eval"))
    import inspect_task

    # The mock answers in the order of the samples.
    outputs = []
    for r in rows:
        out = ModelOutput.from_content("mockllm/model", answers[r["example_id"]])
        out.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it downloads a tokenizer to count
        outputs.append(out)
    with tempfile.TemporaryDirectory() as logs:
        log = run(inspect_task.consistency(config=config), model=get_model("mockllm/model", custom_outputs=outputs),
                  log_dir=logs, display="none", max_samples=1, max_connections=1)[0]
    if log.status != "success":
        print("wrong: inspect:", str(log.error and log.error.message)[:300], file=sys.stderr)
        return 1
    got = {}
    for score in log.results.scores:
        for metric in score.metrics.values():
            got[(metric.params or {}).get("name", metric.name)] = metric.value
    return same(f"inspect, {config}", got, want)


def with_lm_eval(release, config, rows, answers, want):
    import yaml
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    by_story = {r["story"]: answers[r["example_id"]] for r in rows}

    class Mock(LM):
        def generate_until(self, requests):
            out = []
            for r in requests:
                assert r.args[1]["until"] == ["</response>"] and r.args[1]["max_gen_toks"] == 4096, r.args[1]
                out.append(next(a for s, a in by_story.items() if s in r.args[0]))
            return out

        def loglikelihood(self, requests):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    os.chdir(release)
    task = next(t for t in (p.stem for p in (release / "eval/lm_eval").glob("*.yaml")) if t.endswith("_" + config))
    got = simple_evaluate(model=Mock(), tasks=[task], task_manager=TaskManager(include_path="eval/lm_eval"), bootstrap_iters=0)
    figures = {k.split(",")[0]: v for k, v in got["results"][task].items() if k.endswith(",none")}
    return same(f"lm_eval, {config}", figures, {k: v for k, v in want.items() if v is not None and k != "balanced_ceeval"})


def main():
    import pyarrow.parquet as pq

    release = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(release / "eval"))
    import retcon_eval

    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    bad, ran, failed = 0, collections.Counter(), collections.Counter()
    for c in manifest["configs"]:
        rows = [r for s in c["splits"] for f in s["files"] for r in pq.read_table(release / f["path"]).to_pylist()]
        if c["schema"] != "example" or c["name"] == "few_shot" or not rows:
            continue
        answers = {r["example_id"]: answer(r, i) for i, r in enumerate(rows)}
        want = retcon_eval.figures([retcon_eval.verdict(r, answers[r["example_id"]]) for r in rows])
        for name, run in (("inspect_ai", with_inspect), ("lm_eval", with_lm_eval)):
            try:
                __import__(name if name != "lm_eval" else "lm_eval.evaluator")
            except ImportError as e:
                print(f"{name}: skipped, {e}")
                continue
            wrong = run(release, c["name"], rows, answers, want)
            bad += wrong
            ran[name] += len(rows)
            failed[name] += wrong
    for name, n in ran.items():
        print(f"{name:12} {n} rows, " + (f"{failed[name]} figures wrong" if failed[name] else "figures as plain_score.py"))
    sys.exit(1 if bad or not ran else 0)


if __name__ == "__main__":
    main()
