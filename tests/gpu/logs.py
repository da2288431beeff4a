"""The verdict of tests/gpu/logs.sh on a report with NCCL's log.

logs.py NAME REPORT_JSON: prints what the report read and found in the run of that name, or what is wrong, with exit
status 1."""

import json
import sys

# by run: the kinds of the findings, the way of the connections, and a setting that a finding has to name
EXPECTED = {
    "ordinary": (set(), "P2P/", None),
    "no peer-to-peer": ({"inside_node"}, "SHM/", "NCCL_P2P_DISABLE"),
    "two nodes": (set(), "NET/", None),
    "one channel": ({"limited_channels"}, "P2P/", "NCCL_MAX_NCHANNELS"),
}


def judge(name, choices):
    kinds, way, setting = EXPECTED[name]
    (communicator, *others) = choices["communicators"]
    init = communicator["mean_init"] or {}
    routes = {route["route"] for route in communicator["routes"]}
    releases = ", ".join(communicator["releases"])
    # NCCL warns of much that changes nothing
    found = {finding["kind"] for finding in choices["findings"]} - {"warning"}
    if name == "two nodes" and found == {"sockets"} and "2.28" in releases:
        # this release does not look for adapters where NCCL_NET is set, so the log does not prove that there are none
        kinds = found
    line = (f"{releases}: {choices['lines']} lines, {choices['unread']} unread; {sorted(routes)}, "
            f"{communicator['channels']} channels, init {init.get('total')} s; found {sorted(found)}")
    faults = [
        text
        for is_wrong, text in (
            (others, f"{len(others)} communicators too many"),
            (communicator["here"] != 2 or communicator["nranks"] != 2, "not two ranks"),
            (not releases, "no release"),
            (found != kinds, f"not {sorted(kinds)}"),
            (not routes or not all(route.startswith(way) for route in routes), f"connections other than {way}"),
            (setting and setting not in json.dumps(choices["findings"]), f"{setting} is not named"),
            (not communicator["channels"], "no channels"),
            (name == "one channel" and communicator["channels"] != 1, "not one channel"),
            (not init.get("total"), "no time of the init"),
            (choices["unread"], "lines that cannot be read"),
        )
        if is_wrong
    ]
    return "; ".join([line, *faults]), int(bool(faults))


def main():
    name, report = sys.argv[1:]
    try:
        with open(report) as file:
            choices = json.load(file)["choices"].get("known")
    except FileNotFoundError:
        print("no report")
        return 1
    if choices is None:
        print("the report has no part of NCCL's choices")
        return 1
    text, status = judge(name, choices)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
