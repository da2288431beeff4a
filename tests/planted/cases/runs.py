"""Two runs beside each other."""

import re
import subprocess

from cases import case, made
from simulation import MS, NVLINK
from workloads import ON, dp, fsdp, three_d


def compared(name, planted, before, after, worse, options=(), says=None):
    @case(name, planted)
    def check(tool, where, judge):
        a, b = made(where, before(), "a", seed=5), made(where, after(), "b", seed=6)
        run = subprocess.run([tool, "compare", a, b, *options], capture_output=True, text=True)
        judge.said.append(
            f"exit {run.returncode}: " + " ".join(run.stdout.split("\n\n")[0].split())[:120] + run.stderr[:80]
        )
        judge.that(run.returncode == (1 if worse else 0), f"exit {run.returncode}, should be {int(worse)}")
        if says:
            judge.that(re.search(says, run.stdout), f"does not say /{says}/")


BASE = lambda **more: (lambda: dp(16, 100, **more))
compared("compare_same", "two runs that differ in noise alone", BASE(seed=1), BASE(seed=2), False)
compared(
    "compare_same_fsdp",
    "two FSDP runs that differ in noise alone",
    lambda: fsdp(8, 50, seed=1),
    lambda: fsdp(8, 50, seed=2),
    False,
)
compared(
    "compare_same_3d",
    "two 3-D runs that differ in noise alone",
    lambda: three_d(seed=1),
    lambda: three_d(seed=2),
    False,
)
compared("compare_net_2", "network 2 % slower", BASE(seed=1), BASE(seed=2, nvlink=NVLINK / 1.02), False)
compared(
    "compare_net_2_at_1",
    "network 2 % slower, --threshold 1",
    BASE(seed=1),
    BASE(seed=2, nvlink=NVLINK / 1.02),
    True,
    ("--threshold", "1"),
)
compared("compare_net_30", "network 30 % slower", BASE(seed=1), BASE(seed=2, nvlink=NVLINK / 1.3), True)
compared(
    "compare_nodes",
    "one node of 8 more, else the same",
    BASE(seed=1),
    lambda: dp(24, 100, seed=2),
    False,
    says="24 ranks|ranks.*24|16.*24",
)
compared("compare_steps", "100 steps and 60, else the same", BASE(seed=1), lambda: dp(16, 60, seed=2), False)
compared(
    "compare_compute_20",
    "all ranks compute 20 % longer",
    BASE(seed=1),
    BASE(seed=2, compute=6 * MS),
    True,
    says="[Ss]tep",
)
compared(
    "compare_rank_50",
    "rank 5 computes 50 % longer",
    BASE(seed=1),
    BASE(seed=2, factor=ON([5], 1.5)),
    True,
    says="rank 5",
)
