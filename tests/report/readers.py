"""Reads the tables of a report with pandas and DuckDB: readers.py PARQUET CSV REPORT_JSON OPERATIONS.

OPERATIONS is the number of operations in the recordings. Every table must have the same rows in both forms and for
both readers."""

import json
import pathlib
import sys

import duckdb
import pandas

TABLES = {
    "absent", "complete", "ranks", "events", "steps", "slowest", "budget", "breakdown", "breakdown_gpus", "dimensions",
    "phases", "phase_bins", "late", "worst", "speed", "pairs", "states", "transfers", "communicators", "tags",
    "unfinished", "operations",
}  # fmt: skip


def main(parquet, csv, report, operations):
    parquet, csv, report = pathlib.Path(parquet), pathlib.Path(csv), json.load(open(report))
    assert {path.stem for path in parquet.iterdir()} == {path.stem for path in csv.iterdir()} == TABLES
    for name in sorted(TABLES):
        binary, text = pandas.read_parquet(parquet / f"{name}.parquet"), pandas.read_csv(csv / f"{name}.csv")
        assert list(binary.columns) == list(text.columns), (name, binary.columns, text.columns)
        assert len(binary) == len(text), (name, len(binary), len(text))
        for file in [parquet / f"{name}.parquet", csv / f"{name}.csv"]:
            [(count,)] = duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall()
            assert count == len(binary), (file, count, len(binary))
        # an id may look like a number
        text = pandas.read_csv(csv / f"{name}.csv", dtype=str, keep_default_na=False)
        for column in binary.columns:
            one, other = binary[column], text[column]
            if one.dtype.kind in "iuf":
                other = pandas.to_numeric(other.where(other != ""))
                assert one.astype(float).equals(other.astype(float)), (name, column)
            else:
                shown = ["" if pandas.isna(value) else str(value) for value in one]
                assert [value.lower() for value in shown] == [value.lower() for value in other], (name, column)
    rows = pandas.read_parquet(parquet / "operations.parquet")
    # a collective is one operation; an exchange is one row with its messages
    assert rows["messages"].clip(lower=1).sum() == report["complete"]["operations"] == int(operations), len(rows)
    assert (rows["messages"] > 0).equals(rows["kind"] != "collective")
    speed = report["speed"]["known"]["rows"]
    assert len(pandas.read_csv(csv / "speed.csv")) == len(speed)
    assert len(pandas.read_csv(csv / "late.csv")) == len(report["gpus"])
    assert len(pandas.read_csv(csv / "pairs.csv")) == len(report["pairs"]["known"]["rows"])
    print(f"{len(rows)} rows")


main(*sys.argv[1:])
