"""Draws the messages of an OTF2 archive between NCCL's lanes: draw.py ANCHOR COMMUNICATOR FIRST LAST SVG.

Shown are the lanes of a communicator from its message FIRST to its message LAST, in the order in which they are sent. The
lines are made of the records of communication alone: the k-th send from a rank to another is the k-th receive."""

import collections
import html
import sys

import otf2

WIDTH, ROW, LEFT, TOP = 860, 46, 80, 30
COLOURS = {"ncclSend": "#ee7733", "ncclRecv": "#0077bb"}


def read(anchor, comm):
    regions, sends, receives, begun = [], collections.defaultdict(list), collections.defaultdict(list), {}
    with otf2.reader.open(anchor) as trace:
        second = trace.definitions.clock_properties.timer_resolution
        for location, event in trace.events:
            words = location.name.split(" ")
            if words[0] != "NCCL" or words[1] != comm or words[2] != "rank":
                continue
            rank, kind, time = int(words[3]), type(event).__name__, event.time / second * 1e3
            if kind == "Enter":
                begun[location.name] = time
            elif kind == "Leave":
                regions.append((rank, begun.pop(location.name), time, event.region.name.split(" ")[0]))
            elif kind == "MpiSend":
                sends[rank, event.receiver].append((time, event.msg_length))
            elif kind == "MpiRecv":
                receives[event.sender, rank].append((time, event.msg_length))
    messages = [
        (sent, received, source, target, size)
        for (source, target), of in sends.items()
        for (sent, size), (received, _) in zip(of, receives[source, target])
    ]
    return regions, sorted(messages)


def drawing(regions, messages, first, last):
    begin, end = messages[first][0], max(message[1] for message in messages[first : last + 1])
    margin = (end - begin) * 0.03
    begin, end = begin - margin, end + margin
    scale = WIDTH / (end - begin)
    ranks = sorted({rank for rank, *_ in regions})
    height = TOP + ROW * len(ranks) + 24
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}" height="{height}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    )
    for place, (name, colour) in enumerate(COLOURS.items()):
        x = LEFT + 110 * place
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="18">{name}</text>'

    def x_of(time):
        return LEFT + max(0, min(WIDTH, (time - begin) * scale))

    for rank in ranks:
        y = TOP + ROW * rank
        yield f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">rank {rank}</text>'
        yield f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y + 22}" y2="{y + 22}" stroke="#eee"/>'
    for rank, start, stop, name in regions:
        if stop < begin or start > end or name not in COLOURS:
            continue
        x, right, y = x_of(start), x_of(stop), TOP + ROW * rank
        label = html.escape(f"{name} of rank {rank}, {stop - start:.3f} ms")
        yield (
            f'<rect x="{x:.1f}" y="{y + 4}" width="{max(right - x, 0.6):.1f}" height="16" fill="{COLOURS[name]}" '
            f'fill-opacity="0.75"><title>{label}</title></rect>'
        )
    for sent, received, source, target, size in messages:
        if sent < begin or received > end:
            continue
        label = f"{size} B from rank {source} to rank {target}"
        yield (
            f'<line x1="{x_of(sent):.1f}" y1="{TOP + ROW * source + 12}" x2="{x_of(received):.1f}" '
            f'y2="{TOP + ROW * target + 12}" stroke="black"><title>{label}</title></line>'
        )
    yield f'<text x="{LEFT}" y="{height - 6}">0 ms</text>'
    yield f'<text x="{LEFT + WIDTH}" y="{height - 6}" text-anchor="end">{end - begin:.1f} ms</text></svg>'


if __name__ == "__main__":
    anchor, comm, first, last, svg = sys.argv[1:]
    with open(svg, "w") as file:
        file.write("\n".join(drawing(*read(anchor, comm), int(first), int(last))) + "\n")
