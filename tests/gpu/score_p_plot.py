"""Draws some steps of a measurement of tests/gpu/score_p.c: score_p_plot.py DIRECTORY FIRST LAST SVG. Of each rank it
has rows of the first thread's calls, of NCCL's lanes, and of the CUDA adapter's streams, from step FIRST to step LAST.
A copy lies on its stream."""

import html
import pathlib
import sys

import score_p

WIDTH, ROW, LEFT, TOP = 860, 22, 150, 34
COLOURS = {"MPI": "#cc3311", "NCCL": "#0077bb", "computation": "#999999", "copy": "#009988", "CUDA": "#ee7733"}


def kind_of(name):
    if name.startswith("MPI_"):
        return "MPI"
    if name.startswith("nccl"):
        return "NCCL"
    if name == "copy":
        return "copy"
    return "CUDA" if name.startswith("cu") else None


def rows_of(found, rank):
    """The name of each row, and its regions with their kinds."""
    calls = [(region, kind_of(region.name)) for region in found.host[rank]]
    # those of NCCL are drawn over CUDA's, which they make
    shown = sorted((call for call in calls if call[1]), key=lambda call: call[1] != "CUDA")
    yield f"rank {rank}: calls", shown
    yield f"rank {rank}: NCCL's lane", [(region, "NCCL") for region in found.lanes[rank]]
    streams = [(name, regions) for name, regions in found.streams[rank] if any(r.name == "wait" for r in regions)]
    for name, regions in sorted(streams):
        kinds = [(region, kind_of(region.name) or "computation") for region in regions]
        yield f"rank {rank}: {name}", kinds


def drawing(found, first, last):
    steps = [region for region in found.host[0] if region.name == "step"]
    begin, end = steps[first].begin, steps[last].end
    scale = WIDTH / (end - begin)
    rows = [row for rank in sorted(found.host) for row in rows_of(found, rank)]
    height = TOP + ROW * len(rows) + 30
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}" height="{height}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    )
    for place, (kind, colour) in enumerate(COLOURS.items()):
        x = LEFT + 110 * place
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="18">{kind}</text>'
    for number, (name, regions) in enumerate(rows):
        y = TOP + ROW * number
        yield f'<text x="{LEFT - 6}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>'
        yield f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y + 18}" y2="{y + 18}" stroke="#eee"/>'
        for region, kind in regions:
            if region.end is None or region.end < begin or region.begin > end:
                continue
            x, right = (max(0, min(WIDTH, (time - begin) * scale)) for time in (region.begin, region.end))
            label = html.escape(f"{region.name.split('(')[0]}, {region.end - region.begin:.0f} us")
            yield (
                f'<rect x="{LEFT + x:.1f}" y="{y + 3}" width="{max(right - x, 0.4):.1f}" height="14" '
                f'fill="{COLOURS[kind]}"><title>{label}</title></rect>'
            )
    milliseconds = (end - begin) / 1000
    yield f'<text x="{LEFT}" y="{height - 10}">steps {first} to {last}, {milliseconds:.1f} ms</text></svg>'


def main():
    found = score_p.Measurement(pathlib.Path(sys.argv[1]) / "experiment" / "traces.otf2")
    lines = drawing(found, int(sys.argv[2]), int(sys.argv[3]))
    pathlib.Path(sys.argv[4]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
