# SPDX-License-Identifier: Apache-2.0
"""The configs of this data set as a task of inspect.

    inspect eval eval/inspect_task.py --model PROVIDER/MODEL -T config=NAME

Needs inspect-ai and pyarrow. Without -T the default config is run.
"""
import json
import math
import os
import sys

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import SampleScore, Score, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import retcon_eval  # noqa: E402


def rows(config, split):
    import pyarrow.parquet as pq

    root = os.path.dirname(HERE)
    with open(os.path.join(root, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    chosen = [c for c in manifest["configs"] if c["name"] == config or not config][0]
    files = [f["path"] for s in chosen["splits"] if s["name"] == split or not split for f in s["files"]]
    for path in files:
        yield from pq.read_table(os.path.join(root, path)).to_pylist()


@metric
def figure(name: str):
    """One figure over all rows, by the definitions of plain_score.py."""

    # The annotation is read: without it the harness hands over bare scores.
    def compute(scores: list[SampleScore]) -> float:
        value = retcon_eval.figures([s.score.metadata["verdict"] for s in scores])[name]
        return math.nan if value is None else value

    return compute


@scorer(metrics=[figure(name) for name in retcon_eval.METRICS])
def continuity():
    async def score(state: TaskState, target: Target):
        row = state.metadata["row"]
        v = retcon_eval.verdict(row, state.output.completion, state.output.stop_reason or "")
        return Score(value="C" if v["full"] else "I", answer=v["label"] or v["outcome"], metadata={"verdict": v})

    return score


@task
def consistency(config: str = "", split: str = ""):
    samples = [
        Sample(id=row["example_id"], input=retcon_eval.prompt(row), target=row["label"],
               metadata={"row": {k: row[k] for k in ("example_id", "story", "label", "sentences", "error_spans", "contradicted_spans")}})
        for row in rows(config, split)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=config or "default"),
        solver=generate(),
        scorer=continuity(),
        config=GenerateConfig(max_tokens=retcon_eval.MAX_TOKENS, temperature=0.0, stop_seqs=retcon_eval.STOP),
    )
