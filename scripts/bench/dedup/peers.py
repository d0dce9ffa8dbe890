# SPDX-License-Identifier: Apache-2.0
"""Near-duplicates of one file (a line a text: id, tab, text) by a named tool, on one core.

    python peers.py TOOL FILE PAIRS

writes candidate pairs to PAIRS (two ids a line) and prints what it took as
JSON. All tools get the same words ([a-z0-9]+, lower case, apostrophes dropped),
the same 5-word shingles and 42 bands of 3 values; each hashes, signs and
indexes in its own way, by the fastest of its own interfaces that takes full
tokens.
"""
import json
import re
import resource
import sys
import tempfile
import time

BANDS, ROWS, SHINGLE = 42, 3, 5
PERMS = 128
WORD = re.compile(r"[a-z0-9]+")


def shingles(text):
    words = WORD.findall(text.lower().replace("'", "").replace("’", ""))
    return [" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]


def read(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            key, _, text = line.rstrip("\n").partition("\t")
            yield key, text


def datasketch(path, emit):
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(num_perm=PERMS, params=(BANDS, ROWS))
    for key, text in read(path):
        m = MinHash(num_perm=PERMS)
        m.update_batch([s.encode() for s in set(shingles(text))])
        for other in lsh.query(m):
            emit(other, key)
        lsh.insert(key, m, check_duplication=False)


def rensa(path, emit):
    from rensa import RMinHash, RMinHashLSH

    # 126 = 42 x 3: rensa wants the bands to divide the values.
    lsh = RMinHashLSH(threshold=0.3, num_perm=BANDS * ROWS, num_bands=BANDS)
    keys = []
    for key, text in read(path):
        m = RMinHash(num_perm=BANDS * ROWS, seed=42)
        m.update(shingles(text))
        for other in lsh.query(m):
            emit(keys[other], key)
        lsh.insert(len(keys), m)
        keys.append(key)


def datatrove(path, emit):
    import os
    import struct

    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets, MinhashDedupSignature
    from datatrove.utils.hashing import HashConfig

    os.environ["DATATROVE_COLORIZE_LOGS"] = "0"
    keys = []

    class Reader(PipelineStep):
        name = "reader"

        def run(self, data=None, rank=0, world_size=1):
            for key, text in read(path):
                keys.append(key)
                yield Document(id=key, text=text)

    config = MinhashConfig(
        n_grams=SHINGLE, num_buckets=BANDS, hashes_per_bucket=ROWS, hash_config=HashConfig(precision=64)
    )
    with tempfile.TemporaryDirectory() as tmp:
        run = lambda name, steps, tasks: LocalPipelineExecutor(
            pipeline=steps, tasks=tasks, workers=1, logging_dir=f"{tmp}/log-{name}"
        ).run()
        run("sign", [Reader(), MinhashDedupSignature(output_folder=f"{tmp}/sig", config=config)], 1)
        run(
            "buckets",
            [MinhashDedupBuckets(input_folder=f"{tmp}/sig", output_folder=f"{tmp}/buckets", config=config)],
            BANDS,
        )
        # The bytes of its pair files: four unsigned integers a pair.
        seen = set()
        for root, _, files in os.walk(f"{tmp}/buckets"):
            for name in sorted(files):
                data = open(os.path.join(root, name), "rb").read()
                for _, a, _, b in struct.iter_unpack("<4I", data):
                    if (a, b) not in seen:
                        seen.add((a, b))
                        emit(keys[a], keys[b])


def main():
    tool, path, out = sys.argv[1:]
    run = {"datasketch": datasketch, "rensa": rensa, "datatrove": datatrove}[tool]
    # Imports are not timed: a first run on one line warms them.
    warm = tempfile.NamedTemporaryFile("w", suffix=".tsv")
    warm.write("x\tone two three four five six seven\n")
    warm.flush()
    run(warm.name, lambda a, b: None)
    cpu = lambda: sum(
        u.ru_utime + u.ru_stime for u in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
    # ru_maxrss would be inherited from the process that started this one.
    resident = lambda: int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read()).group(1))
    base = resident()
    pairs = open(out, "w", encoding="utf-8")
    wall, start = time.monotonic(), cpu()
    run(path, lambda a, b: pairs.write(f"{a}\t{b}\n"))
    used, wall = cpu() - start, time.monotonic() - wall
    pairs.close()
    peak = resident()
    print(json.dumps({"cpu": used, "wall": wall, "peak": peak << 10, "base": base << 10}))


main()
