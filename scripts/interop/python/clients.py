# SPDX-License-Identifier: Apache-2.0
"""Loads a release with the Python libraries people use, and checks every span.

    python clients.py RELEASE

Each client must load every file of every config and agree with the manifest on
rows; in Python text[start:end] must equal the span's text for every span. One
line a client, exit code 1 when anything is wrong.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

SPAN_LISTS = ("error_spans", "contradicted_spans", "edits")
problems = []


def check(ok, *words):
    if not ok:
        problems.append(" ".join(str(w) for w in words))


def splits(release):
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    for config in manifest["configs"]:
        for split in config["splits"]:
            yield config, split, [release / f["path"] for f in split["files"]]


def check_example(client, row):
    """Checks one row, as plain Python values."""
    where = f"{client}: {row['example_id']}"
    story = row["story"]
    utf8 = story.encode("utf-8")
    utf16 = story.encode("utf-16-le")
    n = 0
    for name in SPAN_LISTS:
        check(row[name] is not None, where, name, "is null")
        for span in row[name] if row[name] is not None else []:
            n += 1
            check(story[span["start"]:span["end"]] == span["text"], where, name, "code points", span["start"])
            check(utf8[span["byte_start"]:span["byte_end"]].decode() == span["text"], where, name, "bytes")
            check(utf16[2 * span["utf16_start"]:2 * span["utf16_end"]].decode("utf-16-le") == span["text"], where, name, "UTF-16")
            if name != "edits":
                s = row["sentences"][span["sentence"]]
                check((s["start"], s["end"]) == (span["start"], span["end"]), where, name, "is no whole sentence")
    at = 0
    for s in row["sentences"]:
        check(story[at:s["start"]].strip() == "" and story[s["start"]:s["end"]].strip() != "", where, "sentences")
        at = s["end"]
    check(story[at:].strip() == "", where, "text after the last sentence")
    positive = row["label"] == "error"
    check(row["cont_error"] == (1.0 if positive else 0.0), where, "cont_error", row["cont_error"])
    check(positive == (row["cont_error_lines"] != "NA"), where, "cont_error_lines")
    check(positive == (len(row["error_spans"]) > 0), where, "error_spans")
    check(len(story.split()) == row["words"], where, "words", row["words"], len(story.split()))
    return n


def run(client, release, load):
    """load(paths) gives the rows of a split as dictionaries."""
    files = rows = spans = 0
    for config, split, paths in splits(release):
        got = load(paths)
        files += len(paths)
        rows += len(got)
        check(len(got) == split["rows"], client, config["name"], split["name"], len(got), "rows, the manifest says", split["rows"])
        ids = [r["example_id"] for r in got] if config["schema"] == "example" else []
        check(ids == sorted(set(ids)), client, config["name"], "ids are not in order")
        for row in got if config["schema"] == "example" else []:
            spans += check_example(client, row)
    check(files > 0, client, "no file")
    return files, rows, spans


def with_pyarrow(release):
    import pyarrow.parquet as pq

    def load(paths):
        out = []
        for p in paths:
            f = pq.ParquetFile(p, page_checksum_verification=True)
            check(all(f.metadata.row_group(i).num_rows <= 1000 for i in range(f.metadata.num_row_groups)), "pyarrow", p, "row group")
            check(all(f.schema.column(i).max_definition_level > 0 for i in range(len(f.schema.names))), "pyarrow", p, "required column")
            out += f.read().to_pylist()
        return out

    return run("pyarrow", release, load)


def with_pandas(release):
    import numpy as np
    import pandas as pd

    def plain(v):
        if isinstance(v, dict):
            return {k: plain(x) for k, x in v.items()}
        if isinstance(v, (list, np.ndarray)):
            return [plain(x) for x in v]
        return v

    return run("pandas", release, lambda paths: [plain(r) for p in paths for r in pd.read_parquet(p).to_dict("records")])


def with_polars(release):
    import polars as pl

    return run("polars", release, lambda paths: [r for p in paths for r in pl.read_parquet(p).to_dicts()])


def with_duckdb(release):
    import duckdb

    def load(paths):
        out = []
        for p in paths:
            cur = duckdb.sql(f"SELECT * FROM read_parquet('{p}')")
            out += [dict(zip(cur.columns, r)) for r in cur.fetchall()]
        return out

    return run("duckdb", release, load)


def with_datasets(release):
    """The whole folder by its card, each config and split, streaming and not."""
    import tempfile

    import datasets

    files = rows = spans = 0
    with tempfile.TemporaryDirectory() as cache:
        for config, split, paths in splits(release):
            name = (config["name"], split["name"])
            ds = datasets.load_dataset(str(release), config["name"], split=split["name"], cache_dir=cache)
            files += len(paths)
            rows += len(ds)
            check(len(ds) == split["rows"], "datasets", *name, len(ds), "rows, the manifest says", split["rows"])
            for row in ds if config["schema"] == "example" else []:
                spans += check_example("datasets", row)
            streamed = datasets.load_dataset(str(release), config["name"], split=split["name"], streaming=True, cache_dir=cache)
            check(streamed.features is not None and set(streamed.features) == set(ds.features), "datasets", *name, "streaming features")
            n = sum(1 for _ in streamed)
            check(n == len(ds), "datasets", *name, "streaming gives", n, "rows")
        check(set(datasets.get_dataset_config_names(str(release))) == {c["name"] for c, _, _ in splits(release)}, "datasets: configs")
    return files, rows, spans


def main():
    release = Path(sys.argv[1]).resolve()
    for client in (with_pyarrow, with_pandas, with_polars, with_duckdb, with_datasets):
        name = client.__name__.removeprefix("with_")
        files, rows, spans = client(release)
        module = __import__(name)
        print(f"{name:10} {module.__version__:12} {files:3} files {rows:6} rows {spans:6} spans", flush=True)
    for p in problems[:20]:
        print("wrong:", p, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} problems")


if __name__ == "__main__":
    main()
