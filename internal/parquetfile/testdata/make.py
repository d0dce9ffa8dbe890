# SPDX-License-Identifier: Apache-2.0
"""Writes the files beside it with pyarrow 26, pandas 3, polars 2 and DuckDB 2."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def arrow(name, table):
    pq.write_table(table, name + "-pyarrow.parquet", store_schema=False)


for codec in "snappy", "gzip", "brotli", "zstd", "lz4":
    table = pa.table({"id": [str(i) for i in range(400)]})
    pq.write_table(table, codec + "-pyarrow.parquet", compression=codec, data_page_version="2.0" if codec == "gzip" else "1.0",
                   use_dictionary=False, store_schema=False)

arrow("twice", pa.table([["a", "b"], ["one", "two"], ["x", "y"]], names=["id", "text", "text"]))
inner = pa.StructArray.from_arrays([pa.array(["u"]), pa.array(["v"])], names=["x", "x"])
arrow("twice-inside", pa.table({"id": ["a"], "s": inner}))

arrow("none", pa.table({}))
pd.DataFrame(index=[0, 1]).to_parquet("none-pandas.parquet", index=False)
pl.DataFrame().write_parquet("none-polars.parquet")

text = [b"caf\xc3\xa9", b"caf\xe9"]
arrow("bytes", pa.table({"id": ["a", "b"], "text": pa.array(text, pa.binary())}))
arrow("bytes-in-list", pa.table({"id": ["a", "b"], "l": pa.array([[b"ok"], [b"a", b"\xff"]], pa.list_(pa.binary()))}))
pl.DataFrame({"id": ["a", "b"], "text": text}).write_parquet("bytes-polars.parquet")
duckdb.sql(r"""copy (select * from (values ('a', 'caf\xC3\xA9'::blob), ('b', 'caf\xE9'::blob)) t(id, text))
    to 'bytes-duckdb.parquet'""")

duckdb.sql("""copy (select 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'::uuid id, 1.5::decimal(30,2) n, [1, 2] l,
    map{'a': 1} m, {'x': 1} s, '{"a": 1}'::json j, 'y'::enum('x', 'y') e, null x) to 'types-duckdb.parquet'""")

# A table of no rows, and groups of none: what pyarrow says of their columns points nowhere.
rows = pa.table({"example_id": ["a", "b"], "label": ["error", "consistent"]})
arrow("zero", rows.slice(0, 0))
with pq.ParquetWriter("groups-pyarrow.parquet", rows.schema, store_schema=False) as w:
    for part in rows.slice(0, 0), rows.slice(0, 1), rows.slice(0, 0), rows.slice(1, 1):
        w.write_table(part)

words = pa.list_(pa.string())
arrow("maps", pa.table({
    "list": pa.array([[("a", ["x", None]), ("b", []), ("c", None)], None, []], pa.map_(pa.string(), words)),
    "map": pa.array([[("a", [(1, "x")])], [], None], pa.map_(pa.string(), pa.map_(pa.int32(), pa.string()))),
    "struct": pa.array([[("a", {"w": ["x"], "n": [[1], []]})], [("b", None)], None],
                       pa.map_(pa.string(), pa.struct([("w", words), ("n", pa.list_(pa.list_(pa.int32())))]))),
    "lists": pa.array([[[("a", 1)]], [None, []], []], pa.list_(pa.map_(pa.string(), pa.int64()))),
}))
arrow("key-twice", pa.table({"m": pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))}))
ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16)))
arrow("numbers", pa.table({
    "u64": pa.array([2**64 - 1], pa.uint64()), "u32": pa.array([2**32 - 1], pa.uint32()), "half": pa.array([-1.5], pa.float16()),
    "small": pa.array([2**-24], pa.float16()), "ids": pa.ListArray.from_arrays([0, 1], ids),
    "dec": pa.array([-1.25], pa.float64()).cast(pa.decimal128(20, 2)),
}))
pq.write_table(pa.table({"t": pa.array([-1, 86_400_000_000_001], pa.timestamp("ns"))}), "int96-pyarrow.parquet",
               use_deprecated_int96_timestamps=True, store_schema=False)
pd.DataFrame({"example_id": ["a"], "label": ["error"], "error_lines": [["x"]]}).iloc[:0].to_parquet("none-rows-pandas.parquet")

# Sixty pages that are held at once, of four million values each.
many = 4_000_000
pq.write_table(pa.table({f"c{i}": pa.nulls(many, pa.string()) for i in range(60)}), "wide-pyarrow.parquet", row_group_size=many,
               max_rows_per_page=many, data_page_size=1 << 30, write_batch_size=many, store_schema=False, write_statistics=False)
pq.write_table(pa.table({"b": [True] * 5_000_000}), "long-page-pyarrow.parquet", row_group_size=5_000_000, max_rows_per_page=5_000_000,
               data_page_size=1 << 30, write_batch_size=5_000_000, compression="zstd", store_schema=False)
