"""Checks a dashboard by Grafana's own model of one (grafana-foundation-sdk), and files for provisioning:
dashboards.py FILE..."""

import json
import sys

import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(before, after, place=""):
    """What Grafana's model does not know, and so forgets, or has another value of."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            if name in after:
                yield from lost(value, after[name], f"{place}/{name}")
            else:
                yield f"{place}/{name} is unknown"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after)):
            yield from lost(one, other, f"{place}/{number}")
    elif before != after:
        yield f"{place} is {after!r}, not {before!r}"


def of_dashboard(dashboard):
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    yield from lost(dashboard, read)
    panels = dashboard["panels"]
    if len({panel["id"] for panel in panels}) != len(panels):
        yield "two panels have one id"
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if cells & taken or at["x"] + at["w"] > 24:
            yield f"{panel['title']} lies over another panel, or beside the page"
        taken |= cells
        if panel["type"] != "row" and not panel.get("description"):
            yield f"{panel['title']} has no description"


def of_provisioning(document):
    """Grafana's documentation has these fields; a file without them provides nothing."""
    wanted = {"providers": ["name", "type", "options"], "datasources": ["name", "type", "access", "url"]}
    lists = [name for name in wanted if name in document]
    if document.get("apiVersion") != 1 or not lists:
        yield f"neither of {', '.join(wanted)} is there"
    for name in lists:
        for entry in document[name]:
            yield from (f"{field} of {name} is missing" for field in wanted[name] if field not in entry)


def faults(path):
    with open(path) as file:
        if path.endswith(".json"):
            try:
                yield from of_dashboard(json.load(file))
            except (KeyError, TypeError) as error:
                yield f"Grafana's model does not read it: {error!r}"
        else:
            yield from of_provisioning(yaml.safe_load(file))


register_default_plugins()
found = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(path)]
sys.exit("\n".join(found) or 0)
