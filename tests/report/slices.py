"""Decodes a trace for Perfetto with Perfetto's own messages: slices.py TRACE OPERATIONS_PARQUET.

Slices must be balanced on each track, and nest; there is one for each row with a begin and an end, with its name, and
flows join the ranks of an occurrence. Each step of a GPU has a slice and what the GPU waited in it."""

import collections
import sys

import pyarrow.parquet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

INSIDE = ["wait", "transfer"]


def main(file, operations):
    trace = Trace()
    trace.ParseFromString(open(file, "rb").read())
    rows = pyarrow.parquet.ParquetFile(operations).read().to_pylist()
    tracks, stacks = {}, collections.defaultdict(list)
    slices, marks, ends = collections.Counter(), collections.Counter(), {}
    parts, flows = collections.Counter(), collections.defaultdict(set)
    steps, waited = collections.Counter(), collections.Counter()
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in tracks and (not described.parent_uuid or described.parent_uuid in tracks)
            tracks[described.uuid] = described
            continue
        event = packet.track_event
        track = tracks[event.track_uuid]
        gpu = track.name if track.HasField("process") else tracks[track.parent_uuid].name
        stack = stacks[event.track_uuid]
        if track.HasField("counter"):
            assert event.type == TrackEvent.TYPE_COUNTER and track.name == "waited in a step"
            waited[gpu] += event.counter_value
            continue
        if track.name == "steps":
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                assert not stack and packet.timestamp >= ends.get(event.track_uuid, 0), "steps overlap"
                steps[gpu, event.name] += 1
                stack.append(packet)
            else:
                assert stack.pop().timestamp <= packet.timestamp
                ends[event.track_uuid] = packet.timestamp
            continue
        if event.type == TrackEvent.TYPE_INSTANT:
            marks[gpu, event.name, packet.timestamp] += 1
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            if stack:
                # a part of an operation, never another operation
                assert len(stack) == 1 and event.name in INSIDE and packet.timestamp >= stack[0].timestamp
                parts[event.name] += 1
            else:
                assert packet.timestamp >= ends.get(event.track_uuid, 0), "operations overlap"
                [flow] = event.flow_ids
                flows[flow].add(gpu)
            stack.append(packet)
        else:
            assert event.type == TrackEvent.TYPE_SLICE_END and stack, "an end without a begin"
            begin = stack.pop()
            assert begin.timestamp <= packet.timestamp
            if not stack:
                slices[gpu, begin.track_event.name, begin.timestamp, packet.timestamp] += 1
                ends[event.track_uuid] = packet.timestamp
    assert not any(stacks.values()), "a begin without an end"
    timed = [row for row in rows if row["start_ns"] is not None]
    columns = ["gpu", "function", "start_ns", "stop_ns"]
    assert slices == collections.Counter(tuple(row[column] for column in columns) for row in timed)
    assert marks == collections.Counter((row["gpu"], row["function"], row["enqueued_ns"]) for row in rows)
    expected = collections.defaultdict(set)
    for row in timed:
        expected[row["occurrence"]].add(row["gpu"])
    assert sorted(map(sorted, flows.values())) == sorted(map(sorted, expected.values()))
    inside = [row for row in timed if row["step"] is not None]
    assert steps == collections.Counter({(row["gpu"], f"step {row['step']}"): 1 for row in inside}), steps
    sums = collections.Counter()
    for row in inside:
        sums[row["gpu"]] += row["wait_ns"] or 0
    assert +waited == +sums, (waited, sums)
    waits = sum(bool(row["wait_ns"]) and row["start_ns"] + row["wait_ns"] < row["stop_ns"] for row in timed)
    assert parts == collections.Counter({"wait": waits, "transfer": waits}), (parts, waits)
    print(f"{len(timed)} slices")


main(*sys.argv[1:])
