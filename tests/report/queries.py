"""Runs the queries of docs/report.md as they stand there: queries.py REPORT_MD DATASET SUMMARY_JSON.

Compares their figures with those of the summary, and prints the number of rows of each query."""

import collections
import json
import re
import statistics
import sys

import dask.distributed
import duckdb
import pandas

BY_GPU = ("stamps", "events", "kernels")


def block(document, language, name):
    found = re.search(rf"### {name}\n+```{language}\n(.*?)```", document, re.DOTALL)
    assert found, f"the document has no query for {name}"
    return found[1]


def of_summary(path):
    """Count and bytes, by function and communicator."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in json.load(open(path))["operations"]:
        assert row["gpu_timed"] == row["count"], "the run has operations without a GPU time"
        sums[row["func"], row["comm"]][0] += row["count"]
        sums[row["func"], row["comm"]][1] += row["bytes"]
    return dict(sums)


def of_ranks(path):
    sums = collections.Counter()
    for row in json.load(open(path))["operations"]:
        sums[row["comm"], row["rank"], row["func"]] += row["count"] + 1j * row["bytes"]
    return {key: (int(sum.real), int(sum.imag)) for key, sum in sums.items()}


def durations(dataset):
    """By function and communicator, read by pandas alone."""
    rows = pandas.read_parquet(dataset)
    rows = rows[rows["source"].isin(BY_GPU)]
    return {key: sorted(of["duration"]) for key, of in rows.groupby(["function", "comm"])}


def main(document, dataset, summary):
    document = open(document).read()
    expected, times = of_summary(summary), durations(dataset)
    query = block(document, "sql", "DuckDB")
    assert query.count("DIR/") == 1, query
    found = duckdb.sql(query.replace("DIR/", f"{dataset}/")).fetchall()
    assert [row[3] for row in found] == sorted((row[3] for row in found), reverse=True)
    assert {(row[0], row[1]): [row[2], row[3]] for row in found} == expected, found
    for function, comm, _, _, median, p95 in found:
        of_row = times[function, comm]
        assert abs(median * 1e3 - statistics.median(of_row)) < 1, (function, comm, median)
        assert of_row[int(0.95 * (len(of_row) - 1))] <= p95 * 1e3 <= of_row[-1], (function, comm, p95)
    ranks = duckdb.sql(
        f"SELECT comm, rank, function, count(*), sum(bytes) FROM '{dataset}/process=*/*.parquet' GROUP BY ALL"
    ).fetchall()
    assert {row[:3]: row[3:] for row in ranks} == of_ranks(summary)
    print(f"DuckDB: {len(found)} rows")

    query = block(document, "python", "Dask")
    assert query.count("DIR/") == 1, query
    printed = []
    cluster = dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, dask.distributed.Client(cluster):
        exec(query.replace("DIR/", f"{dataset}/"), {"print": printed.append})
    [table] = printed
    assert {key: row["count"] for key, row in table.iterrows()} == {key: of[0] for key, of in expected.items()}
    for key, row in table.iterrows():
        assert row["max"] == times[key][-1] and abs(row["mean"] - statistics.mean(times[key])) < 1e-6 * row["mean"]
    print(f"Dask: {len(table)} rows")


# the workers are processes that read this file, too
if __name__ == "__main__":
    main(*sys.argv[1:])
