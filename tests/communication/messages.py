"""Prints NCCL's records of communication in an OTF2 archive, as PyPI's otf2 reads them: messages.py ANCHOR.

A line a record: communicator, rank, and what it does, with ranks of the communicator."""

import sys

import otf2

ROOT_NONE = 2**32 - 1
OPERATIONS = {"BCAST", "GATHER", "SCATTER", "ALLGATHER", "ALLTOALL", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER_BLOCK"}

with otf2.reader.open(sys.argv[1]) as trace:
    for location, event in trace.events:
        kind = type(event).__name__
        if not kind.startswith("Mpi") or not location.name.startswith("NCCL "):
            continue
        _, comm, _, own = location.name.split(" ")[:4]
        if kind == "MpiCollectiveBegin":
            print(comm, own, "begins")
            continue
        members = event.communicator.group.members

        def rank(place):
            words = members[place].name.split(" ")
            assert words[1] == comm, (location, event)
            return words[3]

        if kind == "MpiSend":
            print(comm, own, "sends", event.msg_length, "to", rank(event.receiver))
        elif kind == "MpiRecv":
            print(comm, own, "receives", event.msg_length, "of", rank(event.sender))
        elif kind == "MpiCollectiveEnd":
            operation = str(event.collective_op).rpartition(".")[2]
            assert operation in OPERATIONS, operation
            root = "none" if event.root == ROOT_NONE else rank(event.root)
            print(comm, own, operation, "root", root, "sent", event.size_sent, "received", event.size_received)
        else:
            raise ValueError(kind)
