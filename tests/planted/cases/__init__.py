"""The cases: each has a name, a planted truth, and a function of (tool, directory, judge).

A module holds the cases of one kind, which is its name.
"""

import importlib

from recording import write

KINDS = (
    "none",
    "ranks",
    "pipelines",
    "network",
    "senders",
    "pauses",
    "clocks",
    "steps",
    "communicators",
    "incomplete",
    "odd",
    "runs",
)
CASES = {}


def case(name, planted):
    """Adds a function to the cases."""

    def keep(function):
        assert name not in CASES, name
        CASES[name] = (planted, function)
        return function

    return keep


def made(where, job, name="job", **options):
    """Writes the recordings of a job in a directory, and returns it."""
    write(job, f"{where}/{name}", **options)
    return f"{where}/{name}"


def cases(kinds=KINDS):
    """Returns the kind, name, planted truth and function of each case."""
    found = []
    for kind in KINDS:  # a kind may use another one before it
        known = len(CASES)
        importlib.import_module(f"cases.{kind}")
        if kind in kinds:
            found += [(kind, name, *CASES[name]) for name in list(CASES)[known:]]
    return found
