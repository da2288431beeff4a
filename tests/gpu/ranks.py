"""The ranks of a program: each is a process of its own, started by one that imports neither PyTorch nor CUDA. The nodes
are pretended."""

import ctypes
import os
import subprocess
import sys


def own():
    """The number of this rank; `None` in the process that starts the ranks."""
    rank = os.environ.get("PROGRAM_RANK")
    return None if rank is None else int(rank)


def start(ranks, directory, recorded=False, **options):
    """Starts this program once more for each rank. Rank r's plugin writes its summary to DIRECTORY/summary.r.json, and
    its recording into DIRECTORY/recording.r."""
    nodes = int(os.environ.get("NODES", "1"))
    processes = []
    for rank in range(ranks):
        environment = dict(
            os.environ,
            PROGRAM_RANK=str(rank),
            NCCL_SCOREP_SUMMARY=f"{directory}/summary.{rank}.json",
            SECOND_PLUGIN_REPORT=f"{directory}/second.{rank}.json",
        )
        if recorded:
            environment["NCCL_SCOREP_RECORD"] = f"{directory}/recording.{rank}"
        if nodes > 1:
            environment["NCCL_HOSTID"] = f"node{rank * nodes // ranks}"
        processes.append(subprocess.Popen([sys.executable, *sys.argv], env=environment, **options))
    return processes


def end(processes):
    """Waits for all ranks. When one fails the others would wait for it for ever: they are ended. Exits with the worst
    status."""
    codes = []
    while len(codes) < len(processes):
        for process in processes:
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            if process.returncode and not any(codes):
                [other.kill() for other in processes if other.poll() is None]
        codes = [process.returncode for process in processes if process.poll() is not None]
    sys.exit(max(abs(code) for code in codes))


def join(rank, ranks, directory):
    """Makes the calling process that rank of PyTorch's process group, with a GPU of its own if there are as many."""
    import torch
    import torch.distributed as dist

    gpu = rank % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    store = dist.FileStore(f"{directory}/store", ranks)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=ranks, device_id=torch.device("cuda", gpu))


def join_launched():
    """Makes the calling process, which torchrun has started, a rank of PyTorch's process group. Returns its number and
    that of ranks. Ranks that share a GPU pretend nodes, because NCCL takes one rank a GPU on a node."""
    import torch
    import torch.distributed as dist

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpus = torch.cuda.device_count()
    if gpus < ranks:
        os.environ.update(NCCL_HOSTID=f"node{rank}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo")
    torch.cuda.set_device(rank % gpus)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank % gpus))
    return rank, ranks


def bind(rank, ranks):
    """Gives the calling process that rank's share of the machine's processors, as SLURM does, and the calling thread one
    of them: where the threads land by luck, two runs of the same program differ by a tenth."""
    processors = sorted(os.sched_getaffinity(0))
    share = processors[rank * len(processors) // ranks : (rank + 1) * len(processors) // ranks] or processors
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), share)
    os.sched_setaffinity(0, {share[len(share) // 2]})


def cycles_of_a_millisecond():
    """Clock cycles of the GPU, by CUDA events around the kernel."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        begin.record()
        torch.cuda._sleep(200_000_000)
        end.record()
        end.synchronize()
    return 200_000_000 / begin.elapsed_time(end)


def nccl_release():
    """Of the NCCL that is loaded (PyTorch tells the one that it was built with), as 22809 or 23203."""
    release = ctypes.c_int()
    ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(release))
    return release.value
