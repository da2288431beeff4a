"""A report as frames, beside the same report as JSON: frames.py pandas|polars RUN FILE."""

import json
import pathlib
import sys
import warnings

import scorep_nccl

warnings.simplefilter("error")
kind, run, expected = sys.argv[1], sys.argv[2], json.loads(pathlib.Path(sys.argv[3]).read_text())

# the one that is installed, as it is; the one that was asked for; of several inputs
reports = [
    scorep_nccl.report(run),
    scorep_nccl.report(pathlib.Path(run), frames=kind, options=["--top", "3"]),
    scorep_nccl.report(sorted(pathlib.Path(run).iterdir()), frames=kind),
]
for report in reports:
    assert type(report["late"]).__module__.split(".")[0] == kind, type(report["late"])
    assert len(report["late"]) == len(expected["gpus"])
    assert sum(max(messages, 1) for messages in report["operations"]["messages"]) == expected["complete"]["operations"]
    assert len(report["speed"]) == len(expected["speed"]["known"]["rows"])
    assert "Which rank is late?" in report.text
    assert set(report.absent) == {"conditions", "findings", "nccl", "tags"}, report.absent

other = {"pandas": "polars", "polars": "pandas"}[kind]
for call, error, words in [
    (lambda: scorep_nccl.report(run, frames=other), ImportError, f"pip install 'scorep-nccl[{other}]'"),
    (lambda: scorep_nccl.report(run, frames="dask"), ValueError, "'pandas', 'polars'"),
    (lambda: scorep_nccl.report("/nowhere"), scorep_nccl.ReportError, "/nowhere: No such file"),
    (lambda: scorep_nccl.report(run, options=["--nothing"]), scorep_nccl.ReportError, "--nothing"),
    (lambda: scorep_nccl.report([run, __import__("os").__file__]), UserWarning, "it is no recording"),
    (lambda: reports[0]["lateness"], KeyError, "the report has no such table"),
]:
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"no {error.__name__}")

# one rank alone: whether it is late is not known, and why is said
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    alone = scorep_nccl.report(sorted(pathlib.Path(run).iterdir())[0])
try:
    alone["late"]
except KeyError as raised:
    assert "Waits are unknown" in str(raised), raised
assert "late" in alone.absent and "late" not in alone
print("as the report says")
