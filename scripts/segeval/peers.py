# SPDX-License-Identifier: Apache-2.0
"""Runs pysbd and BlingFire for segeval, on paragraphs it sends as JSON.

Reads {"texts": n, "jobs": [{"at", "text", "index"}], "bulk": [...]} and prints
[{"system", "ends", "mbps"} or {"system", "error"}]. Offsets are code points in
the whole text; a sentence ends before the white space behind it. Offsets that
a library reports are not used: pysbd's point at the first of two equal
sentences. Each sentence is looked for after the one before.
"""

import json
import sys
import time


def ends_of(split, text):
    at, out = 0, []
    for sentence in split(text):
        sentence = sentence.strip()
        if not sentence:
            continue
        found = text.find(sentence, at)
        if found < 0:  # the library changed the text; its words are still there
            continue
        at = found + len(sentence)
        out.append(at)
    return out


def pysbd_split():
    import pysbd

    return pysbd.Segmenter(language="en", clean=False).segment


def blingfire_split():
    import blingfire

    # One sentence a line; the paragraphs hold no line end of their own.
    return lambda text: blingfire.text_to_sentences(text).split("\n")


def main():
    job = json.load(sys.stdin)
    results = []
    for name, make in (("pysbd", pysbd_split), ("BlingFire", blingfire_split)):
        try:
            split = make()
        except ImportError as e:
            results.append({"system": name, "error": str(e)})
            continue
        ends = [[] for _ in range(job["texts"])]
        for j in job["jobs"]:
            ends[j["index"]] += [j["at"] + e for e in ends_of(split, j["text"])]
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < 2:
            for j in job["bulk"]:
                split(j["text"])
                done += len(j["text"].encode())
                if time.perf_counter() - start > 5:
                    break
        mbps = done / 1e6 / (time.perf_counter() - start)
        results.append({"system": name, "ends": ends, "mbps": mbps})
    json.dump(results, sys.stdout)


main()
