"""Draws what overhead.py measured: overhead_plot.py OVERHEAD.JSON SVG. For each kind of operation a row, for each
setting a line: by how many us it exceeds no plugin, over the size, with the 95 % intervals as bars."""

import json
import math
import sys

import interval

WIDTH, HEIGHT, LEFT, TOP, BETWEEN = 640, 200, 70, 40, 60
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#222255", "#999933", "#882255", "#44aa99")


def differences(rows):
    """Excess over the first setting, by kind, setting and size."""
    first = rows[0]["setting"]
    without = {(row["kind"], row["bytes"]): row["us"] for row in rows if row["setting"] == first}
    found = {}
    for row in rows:
        if row["setting"] != first and row["bytes"]:
            more = interval.excess(row["us"], without[row["kind"], row["bytes"]])
            found.setdefault(row["kind"], {}).setdefault(row["setting"], {})[row["bytes"]] = more
    return found


def panel(kind, settings, top):
    """One kind's lines: sizes on a logarithmic axis, us on a linear one."""
    sizes = sorted({size for line in settings.values() for size in line})
    values = [end for line in settings.values() for more in line.values() for end in more if end is not None] + [0.0]
    least, largest = min(values), max(max(values), min(values) + 1e-9)
    span = max(math.log2(sizes[-1]) - math.log2(sizes[0]), 1)

    def across(size):
        return LEFT + WIDTH * (math.log2(size) - math.log2(sizes[0])) / span

    def down(us):
        return top + HEIGHT * (largest - us) / (largest - least)

    yield f'<text x="{LEFT}" y="{top - 8}">{kind}: us more than no plugin</text>'
    yield f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{down(0):.1f}" y2="{down(0):.1f}" stroke="#999"/>'
    for us in (least, largest):
        yield f'<text x="{LEFT - 6}" y="{down(us) + 4:.1f}" text-anchor="end">{us:.1f}</text>'
    for size in (sizes[0], sizes[-1]):
        yield f'<text x="{across(size):.1f}" y="{top + HEIGHT + 16}" text-anchor="middle">{size} B</text>'
    for colour, line in zip(COLOURS, settings.values()):
        places = " ".join(f"{across(size):.1f},{down(line[size][0]):.1f}" for size in sorted(line))
        yield f'<polyline points="{places}" fill="none" stroke="{colour}"/>'
        for size, (_, lower, upper) in line.items():
            if lower is not None:
                ends = f'y1="{down(lower):.1f}" y2="{down(upper):.1f}"'
                yield f'<line x1="{across(size):.1f}" x2="{across(size):.1f}" {ends} stroke="{colour}"/>'


def drawing(rows):
    kinds = differences(rows)
    height = TOP + len(kinds) * (HEIGHT + BETWEEN)
    size = f'width="{LEFT + WIDTH + 200}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    yield '<rect width="100%" height="100%" fill="white"/>'
    for place, (kind, settings) in enumerate(kinds.items()):
        yield from panel(kind, settings, TOP + place * (HEIGHT + BETWEEN))
    names = dict.fromkeys(name for settings in kinds.values() for name in settings)
    for place, (colour, name) in enumerate(zip(COLOURS, names)):
        yield f'<text x="{LEFT + WIDTH + 20}" y="{TOP + 16 * place}" fill="{colour}">{name}</text>'
    yield "</svg>"


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        read = json.load(file)
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(drawing(read["rows"])) + "\n")
