"""When messages on given paths arrive, by SimGrid: links shared max-min fairly by weights, without latencies.

Run by a Python that has SimGrid's module (Debian: python3-simgrid), as a program of its own: JSON in and out.
In: a list of networks {"capacities": [bytes/s of each link], "messages": [{"pair", "start_s", "parts": [[bytes,
weight, [link, ...]], ...]}, ...]}; weights are up to 1. Parts of one pair on its nth path follow one another. Out: of
each network the seconds at which each message has all arrived.
"""

import json
import sys
from typing import Any

from simgrid import Actor, Comm, Engine, Host, LinkInRoute, NetZone, this_actor

# The plain max-min model: whole bandwidths, no windows, no traffic back, and no rounding that would show at 1e-6.
SETTINGS = {
    "network/model": "CM02",
    "network/optim": "Full",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/weight-S": "0",
    "maxmin/precision": "1e-9",
    "surf/precision": "1e-12",
}
# SimGrid weighs a flow by 1 / the latency of its route, and begins it later by that: nothing beside minutes of flow.
# Less would be too little for the precision, which is absolute where weights are summed.
LATENCY_OF_WEIGHT_1_S = 1e-6
NEVER_FULL = 1e18  # bytes/s

Part = tuple[int, float, Host, Host, int]  # message, start, from, to, bytes


def main() -> None:
    networks = json.load(sys.stdin)
    options = [f"--cfg={name}:{value}" for name, value in SETTINGS.items()]
    engine = Engine(["simgrid_flows", "--log=root.thres:critical", *options])
    root = NetZone.create_empty_zone("root")
    ends = [add_network(root, f"n{number}", network) for number, network in enumerate(networks)]
    root.seal()
    engine.run()
    json.dump(ends, sys.stdout)


def add_network(root: NetZone, name: str, network: dict[str, Any]) -> list[float]:
    """Starts the senders of a network, and returns where they will write when each message has arrived.

    Every part has two hosts of its own, between which its path is the route, behind a link that gives it its weight.
    """
    zone = NetZone.create_full_zone(name)
    zone.set_parent(root)
    capacities = enumerate(network["capacities"])
    links = [zone.create_link(f"{name}-link{link}", float(each)).set_latency(0.0).seal() for link, each in capacities]
    arrived = [0.0] * len(network["messages"])
    streams: dict[tuple[int, int], list[Part]] = {}
    for number, message in enumerate(network["messages"]):
        for at, (size, weight, path) in enumerate(message["parts"]):
            src, dst = (zone.create_host(f"{name}-{number}-{at}-{end}", 1.0).seal() for end in ("src", "dst"))
            own = zone.create_link(f"{name}-{number}-{at}", NEVER_FULL)
            own.set_latency(LATENCY_OF_WEIGHT_1_S / weight).seal()
            route = [LinkInRoute(link) for link in (own, *(links[link] for link in path))]
            zone.add_route(src.netpoint, dst.netpoint, None, None, route, False)
            part = (number, message["start_s"], src, dst, size)
            streams.setdefault((message["pair"], at), []).append(part)
    zone.seal()
    for parts in streams.values():
        Actor.create("sender", parts[0][2], send, parts, arrived)
    return arrived


def send(parts: list[Part], arrived: list[float]) -> None:
    for number, start, src, dst, size in parts:
        if start > Engine.get_clock():
            this_actor.sleep_until(start)
        Comm.sendto_async(src, dst, size).wait()
        arrived[number] = max(arrived[number], Engine.get_clock())


main()
