"""A rank of a job under torchrun that hangs, or whose event types are switched: see status.sh.

status.py SCENARIO DIRECTORY, where DIRECTORY is NCCL_SCOREP_STATUS and the place of this rank's counts:

- skip: the last rank leaves out the 50th all-reduce, and all wait until they are killed
- sleep: the last rank sleeps before the 50th all-reduce
- switch: all-reduces until DIRECTORY/stop is there; each rank writes how many it made
"""

import json
import pathlib
import sys
import time

import ranks
import torch
import torch.distributed as dist

SCENARIO, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
LATE = 50


def main():
    rank, count = ranks.join_launched()
    values = torch.ones(1 << 20, device="cuda")
    stop = torch.zeros(1, device="cuda")
    made = 0

    def reduce():
        nonlocal made
        dist.all_reduce(values)
        made += 1

    if SCENARIO == "switch":
        while not stop.item():
            for _ in range(50):
                reduce()
            # all ranks stop after the same all-reduce
            stop.fill_(float(rank == 0 and (DIRECTORY / "stop").exists()))
            dist.all_reduce(stop)
            made += 1
    else:
        for turn in range(LATE + 20):
            if turn == LATE and rank == count - 1:
                (DIRECTORY / "late").touch()
                if SCENARIO == "skip":
                    continue
                time.sleep(600)
            reduce()
    # in "skip", NCCL waits here for the rank that made one less
    torch.cuda.synchronize()
    if SCENARIO == "skip":
        time.sleep(600)
    dist.destroy_process_group()
    (DIRECTORY / f"made.{rank}.json").write_text(json.dumps({"all_reduces": made}))


main()
