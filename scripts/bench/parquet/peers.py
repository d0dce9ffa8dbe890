# SPDX-License-Identifier: Apache-2.0
"""Writes and reads a Parquet file by pyarrow, polars or DuckDB, one request a line.

Each peer loads our file first (not measured), writes its rows with zstd and
1,000 rows a group, and reads its own file, all columns.
"""
import json
import os
import sys
import time


def with_pyarrow(source, path):
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    t = time.perf_counter()
    pq.write_table(table, path, compression="zstd", row_group_size=1000, write_page_index=True, write_page_checksum=True)
    u = time.perf_counter()
    n = pq.read_table(path, page_checksum_verification=True).num_rows
    return u - t, time.perf_counter() - u, n


def with_polars(source, path):
    import polars as pl

    frame = pl.read_parquet(source)
    t = time.perf_counter()
    frame.write_parquet(path, compression="zstd", row_group_size=1000)
    u = time.perf_counter()
    n = pl.read_parquet(path).height
    return u - t, time.perf_counter() - u, n


def with_duckdb(source, path):
    import duckdb

    con = duckdb.connect()
    con.execute(f"CREATE TABLE rows AS SELECT * FROM read_parquet('{source}')")
    t = time.perf_counter()
    con.execute(f"COPY rows TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)")  # its vectors hold 2,048
    u = time.perf_counter()
    con.execute(f"CREATE TABLE again AS SELECT * FROM read_parquet('{path}')")
    took = time.perf_counter() - u
    n = con.execute("SELECT count(*) FROM again").fetchone()[0]
    con.close()
    return u - t, took, n


for line in sys.stdin:
    q = json.loads(line)
    try:
        write, read, rows = globals()["with_" + q["peer"]](q["from"], q["to"])
        print(json.dumps({"write": write, "read": read, "rows": rows, "bytes": os.path.getsize(q["to"])}), flush=True)
        os.remove(q["to"])
    except Exception as e:  # the other side stops
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), flush=True)
