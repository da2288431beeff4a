#!/usr/bin/env python3
"""Jobs with planted faults, to hold `scorep-nccl report` and `compare` against what was planted.

    planted.py --check --tool PATH [--only NAME...] [--kind KIND...]   simulates, runs, judges; a line a case
    planted.py --check --tool PATH --drawn SEED [--count N]            the same for jobs and faults by random draws
    planted.py --check --tool PATH --senders SEED [--count N]          the same for late ranks that send more slowly
    planted.py --statistic --tool PATH [--jobs N] [--only NAME...]     how often a rank is named, rightly and wrongly
    planted.py --check ... --work DIR --keep                           leaves the recordings in DIR/NAME
    planted.py --list                                                  the cases

Exit status 1 if any is wrong. Python's standard library suffices.
"""

import argparse
import os
import shutil
import sys
import tempfile

import drawn
import senders
import statistic
from cases import KINDS, cases
from judge import Judge


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--statistic", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tool")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names begin so")
    parser.add_argument("--kind", nargs="*", default=KINDS, choices=KINDS, help="cases of these kinds")
    parser.add_argument("--drawn", type=int, metavar="SEED", help="cases by random draws from this seed")
    parser.add_argument("--senders", type=int, metavar="SEED", help="late ranks that send more slowly, from this seed")
    parser.add_argument("--count", type=int, default=30, help="number of drawn cases")
    parser.add_argument("--jobs", type=int, default=200, help="number of jobs without a fault in the statistic")
    parser.add_argument("--work", help="directory for the recordings")
    parser.add_argument("--keep", action="store_true", help="keep the recordings")
    return parser.parse_args()


def check(tool, work, chosen, keep):
    """Judges each case and prints a line about it. Returns the number of those that are wrong."""
    wrong = 0
    for _, name, planted, function in chosen:
        where, judge = f"{work}/{name}", Judge()
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        try:
            function(tool, where, judge)
        except Exception as error:  # a case that cannot be judged is wrong
            judge.wrong.append(f"{type(error).__name__}: {error}")
        wrong += bool(judge.wrong)
        print(
            f"{'WRONG' if judge.wrong else 'right'} {name}: {planted} | said: {' / '.join(judge.said)}"
            + (f" | {'; '.join(judge.wrong)}" if judge.wrong else ""),
            flush=True,
        )
        if not keep:
            shutil.rmtree(where, ignore_errors=True)
    print(f"{wrong} of {len(chosen)} cases wrong")
    return wrong


def main():
    given = arguments()
    if given.drawn is not None:
        chosen = drawn.cases(given.drawn, given.count)
    elif given.senders is not None:
        chosen = senders.cases(given.senders, given.count)
    else:
        chosen = cases(given.kind)
    if given.list:
        for kind, name, planted, _ in chosen:
            print(f"{kind:14} {name:24} {planted}")
        return 0
    if not given.tool or given.check == given.statistic:
        print(__doc__)
        return 2
    tool = os.path.abspath(given.tool)
    work = given.work or tempfile.mkdtemp(prefix="planted-")
    begins = lambda name: not given.only or any(name.startswith(only) for only in given.only)
    if given.statistic:
        wrong = statistic.run(tool, work, given.jobs, begins, given.keep)
    else:
        wrong = check(tool, work, [one for one in chosen if begins(one[1])], given.keep)
    if not given.keep and not given.work:
        shutil.rmtree(work, ignore_errors=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
