"""A rank of PyTorch under Score-P's Python bindings: score_p_torch.py DIRECTORY, started by tests/gpu/score-p.sh with
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. It writes what it did to DIRECTORY/did.R.json."""

import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist

STEPS, FLOATS = 50, 1 << 20


def step(tensor, gathered):
    dist.all_reduce(tensor)
    dist.all_gather_into_tensor(gathered, tensor)
    tensor.mul_(0.5)


def main():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpus = torch.cuda.device_count()
    torch.cuda.set_device(rank % gpus)
    dist.init_process_group("nccl")
    tensor = torch.ones(FLOATS, device="cuda")
    gathered = torch.empty(FLOATS * ranks, device="cuda")
    for _ in range(STEPS):
        step(tensor, gathered)
    torch.cuda.synchronize()
    nbytes = STEPS * tensor.nbytes
    did = {"AllReduce": [STEPS, nbytes], "AllGather": [STEPS, nbytes]}
    made = {"rank": rank, "ranks": ranks, "gpus": gpus, "steps": STEPS, "did": did}
    (pathlib.Path(sys.argv[1]) / f"did.{rank}.json").write_text(json.dumps(made))
    dist.destroy_process_group()


main()
