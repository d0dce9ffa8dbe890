# SPDX-License-Identifier: Apache-2.0
"""Loads a release with the Python libraries people use, and checks every span.

    python clients.py RELEASE [ARROW]

ARROW is a folder that `retcon export --arrow` made of the release. Each client
must load every file of every config and agree with the manifest on rows; in Python text[start:end] must equal the span's text for every span. One
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


def check_prompt(client, row):
    """The span checks of one prompt: its source is not here, its elements' lengths are."""
    where = f"{client}: {row['prompt_id']}"
    check(row["task_type"] in ("generation", "continuation", "expansion", "completion"), where, "task_type", row["task_type"])
    check(isinstance(row["id"], int) and row["prompt"].strip() == row["prompt"] != "", where, "id or prompt")
    n = 0
    for e in row["elements"]:
        n += 1
        if row["source"]["redistribute"] != "text":
            check(e["text"] == "", where, "quotes a source that may not be passed on")
            continue
        check(len(e["text"]) == e["end"] - e["start"], where, "code points", e["start"])
        check(len(e["text"].encode("utf-8")) == e["byte_end"] - e["byte_start"], where, "bytes")
        check(len(e["text"].encode("utf-16-le")) == 2 * (e["utf16_end"] - e["utf16_start"]), where, "UTF-16")
    return n


CHECKS = {"example": ("example_id", check_example), "prompt": ("id", check_prompt)}


def check_rows(client, schema, rows):
    """Ids in order, and each row by its schema's checks. Returns the number of spans."""
    if schema not in CHECKS:
        return 0
    key, one = CHECKS[schema]
    ids = [r[key] for r in rows]
    check(ids == sorted(set(ids)), client, schema, "ids are not in order")
    return sum(one(client, r) for r in rows)


def run(client, release, load):
    """load(paths) gives the rows of a split as dictionaries."""
    files = rows = spans = 0
    for config, split, paths in splits(release):
        got = load(paths)
        files += len(paths)
        rows += len(got)
        check(len(got) == split["rows"], client, config["name"], split["name"], len(got), "rows, the manifest says", split["rows"])
        spans += check_rows(client, config["schema"], got)
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

    datasets.disable_progress_bars()
    files = rows = spans = 0
    with tempfile.TemporaryDirectory() as cache:
        for config, split, paths in splits(release):
            name = (config["name"], split["name"])
            files += len(paths)
            streamed = datasets.load_dataset(str(release), config["name"], split=split["name"], streaming=True, cache_dir=cache)
            if split["rows"] == 0:
                # The library cannot load a split without rows except by streaming ("corresponds to no data").
                check(streamed.features is not None and "error_spans" in streamed.features, "datasets", *name, "features of an empty split")
                check(sum(1 for _ in streamed) == 0, "datasets", *name, "an empty split has rows")
                continue
            ds = datasets.load_dataset(str(release), config["name"], split=split["name"], cache_dir=cache)
            rows += len(ds)
            check(len(ds) == split["rows"], "datasets", *name, len(ds), "rows, the manifest says", split["rows"])
            spans += check_rows("datasets", config["schema"], list(ds))
            check(streamed.features is not None and set(streamed.features) == set(ds.features), "datasets", *name, "streaming features")
            n = sum(1 for _ in streamed)
            check(n == len(ds), "datasets", *name, "streaming gives", n, "rows")
        check(set(datasets.get_dataset_config_names(str(release))) == {c["name"] for c, _, _ in splits(release)}, "datasets: configs")
    return files, rows, spans


def with_huggingface_hub(release):
    """The card by the hub library's own class, and its checks."""
    import re

    from huggingface_hub import DatasetCard

    card = DatasetCard.load(release / "README.md")
    data = card.data.to_dict()
    for key in ("language", "license", "pretty_name", "size_categories", "task_categories", "configs", "dataset_info"):
        check(data.get(key), "card: no", key)
    allowed = {
        "annotations_creators": {"found", "crowdsourced", "expert-generated", "machine-generated", "no-annotation", "other"},
        "language_creators": {"found", "crowdsourced", "expert-generated", "machine-generated", "other"},
        "multilinguality": {"monolingual", "multilingual", "translation", "other"},
        "source_datasets": {"original", "extended"},
    }
    for key, values in allowed.items():
        check(set(data[key]) <= values, "card:", key, data[key])
    if data["license"] == "other":
        check(re.fullmatch(r"[a-z0-9.-]+", data["license_name"]), "card: license_name", data["license_name"])
        check((release / data["license_link"]).exists(), "card: license_link", data["license_link"])
    check(not re.search(r"More Information Needed|TODO|\{\{ |<!--", card.content), "card: a placeholder is left")
    for section in ("Dataset Details", "Uses", "Dataset Structure", "Dataset Creation", "Bias, Risks, and Limitations", "Citation", "Maintenance"):
        check(f"\n## {section}\n" in card.content, "card: no section", section)
    if os.environ["HF_HUB_OFFLINE"] == "0":
        card.validate(repo_type="dataset")
    files = rows = 0
    info = {d["config_name"]: d for d in data["dataset_info"]}
    for config, split, paths in splits(release):
        files += len(paths)
        said = {s["name"]: s["num_examples"] for s in info[config["name"]]["splits"]}
        rows += said[split["name"]]
        check(said[split["name"]] == split["rows"], "card:", config["name"], split["name"], said, "rows")
    return files, rows, 0


def with_mlcroissant(release):
    """Validates croissant.json and reads every record through it."""
    import logging

    import mlcroissant

    logging.disable(logging.WARNING)
    ds = mlcroissant.Dataset(jsonld=str(release / "croissant.json"))
    report = ds.metadata.ctx.issues.report()
    check(not ds.metadata.ctx.issues.errors and not ds.metadata.ctx.issues.warnings, "croissant:", report)
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    files = rows = spans = 0

    def text(v):
        return v.decode() if isinstance(v, bytes) else v

    for config in manifest["configs"]:
        name = config["name"]
        files += sum(len(s["files"]) for s in config["splits"])
        n = 0
        if sum(s["rows"] for s in config["splits"]) > 0:
            for record in ds.records(name):
                n += 1
                if config["schema"] != "example":
                    continue
                story = text(record[f"{name}/story"])
                for column in ("error_spans", "contradicted_spans"):
                    for span in record.get(f"{name}/{column}") or []:
                        at = f"{name}/{column}/"
                        spans += 1
                        check(story[span[at + "start"]:span[at + "end"]] == text(span[at + "text"]), "croissant:", name, column)
        rows += n
        check(n == sum(s["rows"] for s in config["splits"]), "croissant:", name, n, "records")
    shas = {f.uuid: f.sha256 for f in ds.metadata.distribution if hasattr(f, "sha256")}
    for f in manifest["files"]:
        check(shas.get(f["path"]) == f["sha256"], "croissant: hash of", f["path"])
    return files, rows, spans


def with_arrow(release, folder):
    """The exported IPC files, by pyarrow, polars and the datasets library."""
    import tempfile

    import datasets
    import polars as pl
    import pyarrow as pa

    datasets.disable_progress_bars()
    files = rows = spans = 0
    for config, split, _ in splits(release):
        path = folder / config["name"] / f"{split['name']}.arrow"
        table = pa.ipc.open_file(path).read_all()
        frame = pl.read_ipc(path)
        files += 1
        rows += table.num_rows
        check(table.num_rows == split["rows"] == frame.height, "arrow:", path, table.num_rows, frame.height, "rows")
        plain = table.to_pylist()
        check(plain == frame.to_dicts(), "arrow:", path, "pyarrow and polars differ")
        spans += check_rows("arrow", config["schema"], plain)
        if split["rows"] > 0:  # an empty one cannot be loaded by the datasets library
            with tempfile.TemporaryDirectory() as cache:
                ds = datasets.load_dataset("arrow", data_files=str(path), split="train", cache_dir=cache)
                check(list(ds) == plain, "arrow:", path, "datasets reads other rows")
    return files, rows, spans


def main():
    release = Path(sys.argv[1]).resolve()
    for client in (with_pyarrow, with_pandas, with_polars, with_duckdb, with_datasets, with_huggingface_hub, with_mlcroissant):
        name = client.__name__.removeprefix("with_")
        files, rows, spans = client(release)
        module = __import__(name)
        version = getattr(module, "__version__", "")
        print(f"{name:15} {version:10} {files:3} files {rows:6} rows {spans:6} spans", flush=True)
    if len(sys.argv) > 2:
        files, rows, spans = with_arrow(release, Path(sys.argv[2]).resolve())
        print(f"{'arrow files':26} {files:3} files {rows:6} rows {spans:6} spans", flush=True)
    for p in problems[:20]:
        print("wrong:", p, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} problems")


if __name__ == "__main__":
    main()
