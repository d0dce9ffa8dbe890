# SPDX-License-Identifier: Apache-2.0
"""The figures of the Go scorer in plain Python and scikit-learn.

    python bench.py EVALKIT ROWS PREDICTIONS

Labels go through scikit-learn, quotes through the plain page that ships with
each release (plain_score.py). Prints one JSON object.
"""
import json
import math
import sys

sys.path.insert(0, sys.argv[1])
import numpy
import pyarrow.parquet
from sklearn import metrics

import plain_score as plain


def predictions(path):
    if path.endswith(".parquet"):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=10000):
            yield from batch.to_pylist()
    else:
        yield from plain.read_lines(path)


rows = {r["example_id"]: plain.prepare(r) for r in plain.read_lines(sys.argv[2])}
seen, gold, said, answered, error_hit, contradicted_hit, full = {}, [], [], [], [], [], []
for p in predictions(sys.argv[3]):
    key = p["sample"], p["example_id"]
    assert key not in seen
    seen[key] = True
    v = plain.judge(rows[p["example_id"]], p)
    gold.append(v["error"])
    answered.append(v["answered"])
    said.append(v["answered"] and v["right"] == v["error"])
    found = v["error"] and v["right"]
    error_hit.append(found and v["hits"][0])
    contradicted_hit.append(found and v["hits"][1])
    full.append(v["full"])
# Rows of the last sample without prediction count as wrong.
for sample in {s for s, _ in seen}:
    for i, row in rows.items():
        if (sample, i) not in seen:
            gold.append(row["error"])
            for column in (said, answered, error_hit, contradicted_hit, full):
                column.append(False)

gold, said, answered, full = map(numpy.array, (gold, said, answered, full))
right_or_not = numpy.where(answered, said, ~gold)
precision, recall, f1, _ = metrics.precision_recall_fscore_support(gold, said, average="binary")
tnr = metrics.recall_score(~gold, ~right_or_not)
pos = full[gold].mean()
figures = {
    "accuracy": metrics.accuracy_score(gold, right_or_not),
    "accuracy_answered": metrics.accuracy_score(gold[answered], said[answered]),
    "coverage": answered.mean(),
    "precision": precision, "recall": recall, "f1": f1,
    "ceeval_pos": pos, "ceeval_full": full.mean(), "true_negative_rate": tnr,
    "balanced_ceeval": 0.0 if pos + tnr == 0 else 2 * pos * tnr / (pos + tnr),
    "error_hit": numpy.array(error_hit)[gold].mean(), "contradicted_hit": numpy.array(contradicted_hit)[gold].mean(),
}
assert not any(math.isnan(v) for v in figures.values())
print(json.dumps({k: float(v) for k, v in figures.items()}))
