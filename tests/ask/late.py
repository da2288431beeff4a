"""A rank that calls the library as NCCL 2.27 does (profiler interface v4), and then does something else in Python.

    late.py LIBRARY      does what each line of standard input says, and answers each with a line:

init    a communicator and an all-reduce on the main thread, and a thread that calls nothing of NCCL
name    gives the main thread a name that would clear a terminal
late    sleeps in `late_data_loading` until standard input is closed
busy    threads that change their stacks all the time, and threads that begin and end, until standard input is closed
With the end of standard input the interpreter ends: the later, the higher the rank, and slowly.
"""

import ctypes
import os
import select
import sys
import threading
import time

COLL = 1 << 1


class Table(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("name", "init", "start", "stop", "record", "finalize")]


class Coll(ctypes.Structure):
    _fields_ = [
        ("sequence", ctypes.c_uint64),
        ("func", ctypes.c_char_p),
        ("send", ctypes.c_void_p),
        ("receive", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("root", ctypes.c_int),
        ("datatype", ctypes.c_char_p),
        ("channels", ctypes.c_uint8),
        ("warps", ctypes.c_uint8),
        ("algorithm", ctypes.c_char_p),
        ("protocol", ctypes.c_char_p),
    ]


class Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int), ("coll", Coll)]


class Slow:
    """Is deleted by the interpreter that ends, while the library's thread may read it."""

    def __del__(self, sleep=time.sleep):
        sleep(0.1)


def call(function, *arguments):
    types = [type(argument) if isinstance(argument, ctypes._SimpleCData) else ctypes.c_void_p for argument in arguments]
    status = ctypes.CFUNCTYPE(ctypes.c_int, *types)(function)(*arguments)
    assert status == 0, status


def all_reduce(library, rank):
    table = Table.in_dll(library, "ncclProfiler_v4")
    context, mask, handle = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p()
    # any C function may stand for NCCL's logger: one of Python's could not be called when Python has ended
    logger = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)
    one, two, own = ctypes.c_int(1), ctypes.c_int(2), ctypes.c_int(rank)
    call(
        table.init, ctypes.addressof(context), ctypes.addressof(mask), ctypes.c_char_p(b""), ctypes.c_uint64(0xAB),
        one, two, own, logger,
    )
    coll = Coll(
        func=b"AllReduce", count=1024, datatype=b"ncclFloat32", channels=1, warps=1, algorithm=b"RING", protocol=b"LL"
    )
    event = Event(type=COLL, rank=rank, coll=coll)
    call(table.start, context, ctypes.addressof(handle), ctypes.addressof(event))
    call(table.stop, handle)


def until_closed():
    """Waits for the end of standard input without taking its lock."""
    select.select([0], [], [])


def late_data_loading():
    until_closed()


def other_work():
    time.sleep(1000)


def deep(depth):
    return depth and deep(depth - 1) + 1


def always_busy():
    while True:
        deep(80)
        eval(compile("[one for one in range(9)]", f"made-{time.time()}", "eval"))


def always_new():
    while True:
        thread = threading.Thread(target=deep, args=(30,))
        thread.start()
        thread.join()


def main():
    library, rank = ctypes.CDLL(sys.argv[1]), int(os.environ["RANK"])
    for order in iter(sys.stdin.readline, ""):
        order = order.strip()
        if order == "init":
            all_reduce(library, rank)
            threading.Thread(target=other_work, daemon=True).start()
        if order == "name":
            with open(f"/proc/self/task/{os.getpid()}/comm", "w") as name:
                name.write("a\x1b[2J")
        if order == "busy":
            for _ in range(4):
                threading.Thread(target=always_busy, daemon=True).start()
            threading.Thread(target=always_new, daemon=True).start()
            sys.setswitchinterval(1e-5)
        print("done", flush=True)
        if order == "late":
            late_data_loading()
    time.sleep(0.1 * rank)


if __name__ == "__main__":
    slow = [Slow() for _ in range(5)]
    main()
