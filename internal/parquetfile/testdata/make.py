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
