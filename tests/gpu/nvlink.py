"""An all-gather of known bytes in a loop, and the bytes over NVLink that the summaries have of it.

    nvlink.py run DIRECTORY      one rank, under torchrun: 200 all-gathers of 64 MiB a rank
    nvlink.py check DIRECTORY    prints NVML's bytes beside NCCL's; exit status 1 unless each ratio is within 5 % of 1
    nvlink.py say DIRECTORY      prints the same, whatever it is
"""

import json
import os
import pathlib
import sys
import time

ROUNDS, BYTES = 200, 64 << 20
# Bytes that a rounded sum may be off by.
ROUNDED = 1 << 10
WITHIN = 0.05


def run(directory):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    # with a device, the communicator is made here and not at the first operation
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    ranks = dist.get_world_size()
    mine = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
    all_of_them = torch.empty(BYTES * ranks, dtype=torch.uint8, device="cuda")
    # the library reads the zero of the counters when the communicator is made, on a thread of its own
    time.sleep(3)
    for _ in range(ROUNDS):
        dist.all_gather_into_tensor(all_of_them, mine)
    torch.cuda.synchronize()
    # the program's own count: in a ring, each rank sends its own and passes on all others' but one; LL128 sends 8 bytes
    # of flags with 120 of data
    sent = ROUNDS * BYTES * (ranks - 1)
    if os.environ.get("NCCL_PROTO") == "LL128":
        sent = round(sent * 128 / 120)
    (directory / f"made.{rank}.json").write_text(json.dumps({"sent": sent}))
    dist.destroy_process_group()


def gigabytes(count):
    return "-" if count is None else f"{count / 1e9:.3f} GB"


def lines_of(directory):
    """Lines for people, and whether each ratio is there and near 1."""
    lines, is_right = [], True
    for made in sorted(directory.glob("made.*.json")):
        rank = made.name.split(".")[1]
        wanted = json.loads(made.read_text())["sent"]
        summary = json.loads((directory / f"summary.{rank}.json").read_text())
        found = summary["processes"][0]["nvlink"]
        if not found["gpus"]:
            lines.append(f"rank {rank}: no GPU: {found.get('absent')}")
            is_right = False
        for gpu in found["gpus"]:
            ratio = gpu["sent_ratio"]
            is_right &= abs(gpu["nccl_sent_bytes"] - wanted) <= ROUNDED
            is_right &= ratio is not None and abs(ratio - 1) <= WITHIN
            is_right &= gpu["received_ratio"] is not None and abs(gpu["received_ratio"] - 1) <= WITHIN
            why = gpu.get("absent") or gpu["nccl_unknown"] or ""
            lines.append(
                f"rank {rank}, {gpu['gpu']}: NVML sent {gigabytes(gpu['sent_bytes'])}, received "
                f"{gigabytes(gpu['received_bytes'])}; NCCL {gigabytes(gpu['nccl_sent_bytes'])}, the program "
                f"{gigabytes(wanted)}; ratio {ratio} and {gpu['received_ratio']}; headers included "
                f"{gigabytes(gpu['raw_sent_bytes'])}; PCIe {gpu.get('pcie')} {why}"
            )
    return lines, is_right and bool(lines)


def main():
    verb, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    if verb == "run":
        run(directory)
        return 0
    lines, is_right = lines_of(directory)
    print("; ".join(lines) or "no rank has ended")
    return int(verb == "check" and not is_right)


if __name__ == "__main__":
    sys.exit(main())
