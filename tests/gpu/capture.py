"""A CUDA graph is captured in the global mode while another thread launches collectives that events time: neither breaks the other.

    torchrun --nproc-per-node 2 tests/gpu/capture.py

Calls of other threads that might wait would end the capture with an error. Prints `right` on rank 0, or what CUDA said."""

import os
import threading

import torch
import torch.distributed as dist

RANK = int(os.environ["LOCAL_RANK"])
CAPTURES = 200

torch.cuda.set_device(RANK)
device = torch.device("cuda", RANK)
dist.init_process_group("nccl", device_id=device)
launched = torch.ones(1 << 16, device=device)
captured = torch.ones(1 << 16, device=device)
over = threading.Event()


def launch():
    """As many on each rank, since both must take part."""
    torch.cuda.set_device(RANK)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3000):
            dist.all_reduce(launched)
        torch.cuda.current_stream().synchronize()
    over.set()


dist.all_reduce(launched)
torch.cuda.synchronize()
thread = threading.Thread(target=launch)
thread.start()
stream, captures = torch.cuda.Stream(), 0
while captures < CAPTURES or not over.is_set():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="global"):
        captured.mul_(1.0)
    captures += 1
thread.join()
torch.cuda.synchronize()
if RANK == 0:
    print(f"right    {captures} captures in the global mode beside 3001 collectives", flush=True)
dist.destroy_process_group()
