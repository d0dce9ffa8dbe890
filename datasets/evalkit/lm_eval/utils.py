# SPDX-License-Identifier: Apache-2.0
"""Functions of the lm-evaluation-harness tasks in this folder.

The harness averages each figure over the rows that give it, so a figure of
positives alone is given by positives alone.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import retcon_eval  # noqa: E402


def doc_to_text(doc):
    return retcon_eval.prompt(doc)


def process_results(doc, results):
    v = retcon_eval.verdict(doc, results[0])
    out = {"accuracy": float(v["right"]), "coverage": float(v["answered"]), "ceeval_full": float(v["full"])}
    if v["answered"]:
        out["accuracy_answered"] = float(v["right"])
    if v["error"]:
        out["recall"] = float(v["right"])
        out["ceeval_pos"] = float(v["full"])
    else:
        out["true_negative_rate"] = float(v["right"])
    return out
