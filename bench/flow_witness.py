"""The flow model held against SimGrid's: when messages on paths of every routing arrive, on random networks.

Run: python -m hocket.bench.flow_witness [--networks 120] [--seed 0]     (Debian: apt-get install python3-simgrid)

A network has 2 to 8 pairs of ranks on 2 to 6 switches, with parallel links and links of three bandwidths; each pair
sends one to three messages, begun at random times. Both are told the same paths and share links max-min fairly, by
weights: those of parts are their shares of the message. The solvers have nothing in common. `uneven` counts the
networks in which flows of several weights cross one link; `worst` is the largest difference of an arrival, relative to
SimGrid's. Without latencies but those by which SimGrid weighs. Last, the seconds of CPU that each took; SimGrid's are
of a process that also starts, and has an actor for each stream.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hocket.bench.witness
from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.bench.command_line import command_line
from hocket.chakra import TraceBuilder, TraceSet
from hocket.simulator import Fidelity, simulate_traces
from hocket.topology import ROUTINGS, WHOLE_SHARE, Topology, routing_of

__all__ = ["EQUAL", "Compared", "compare", "find_simgrid"]

EQUAL = 1e-6
_STATIC = [name for name in ROUTINGS if name not in ("dimension_order", "adaptive")]
_PROGRAM = Path(hocket.bench.witness.__path__[0]) / "simgrid_flows.py"


@dataclass(frozen=True)
class Message:
    pair: int
    start_ns: int
    size_bytes: int
    recv_node: int


@dataclass
class Compared:
    """Of one routing: `paths` is the most that a message took, `uneven` the networks in which flows of several weights
    cross a link, `worst` the largest relative difference."""

    networks: int = 0
    messages: int = 0
    paths: int = 1
    uneven: int = 0
    worst: float = 0.0
    equal: int = 0


def find_simgrid() -> str | None:
    """A Python that has SimGrid's module: this one, or Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if (
            Path(python).exists()
            and processes.run([python, "-c", "import simgrid"], capture_output=True).returncode == 0
        ):
            return python
    return None


def compare(python: str, networks: int, seed: int) -> tuple[dict[str, Compared], float, float]:
    """What the two say, by routing, and the seconds of CPU that ours and theirs took. Raises HocketError where
    SimGrid's process fails."""
    asked, ours = [], []
    began = time.process_time()
    for routing, topology, traces, messages in _cases(networks, seed):
        prediction = simulate_traces(traces, topology, fidelity=Fidelity("flow", routing=routing))
        first = np.cumsum([0, *(len(trace) for trace in traces.traces)])
        ends = [prediction.node_finish_ps[first[2 * each.pair + 1] + each.recv_node] for each in messages]
        ours.append((routing, np.array(ends, np.int64) / 1e12))
        asked.append(_question(topology, routing, messages))
    own_s, before = time.process_time() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    done: subprocess.CompletedProcess[str] = processes.run(
        [python, str(_PROGRAM)], input=json.dumps(asked), capture_output=True, text=True
    )
    if done.returncode:
        raise HocketError(f"SimGrid's process ended with {done.returncode}:", *done.stderr.strip().splitlines()[-5:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    results: dict[str, Compared] = {}
    for (routing, own), theirs, question in zip(ours, json.loads(done.stdout), asked, strict=True):
        result = results.setdefault(routing.partition(":")[0], Compared())
        worst = float(np.max(np.abs(own - theirs) / theirs))
        result.networks += 1
        result.messages += len(own)
        result.paths = max(result.paths, *(len(message["parts"]) for message in question["messages"]))
        result.uneven += _is_uneven(question)
        result.worst = max(result.worst, worst)
        result.equal += worst <= EQUAL
    return results, own_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _cases(networks: int, seed: int) -> Iterator[tuple[str, Topology, TraceSet, list[Message]]]:
    draw = random.Random(seed)
    for _ in range(networks):
        topology = _network(draw)
        traces, messages = _job(draw, topology.num_ranks // 2)
        for routing in _STATIC:
            yield f"{routing}:seed={draw.randrange(9)}" if routing == "ecmp" else routing, topology, traces, messages


def _network(draw: random.Random) -> Topology:
    ranks, switches = 2 * draw.randint(2, 8), draw.randint(2, 6)
    links: list[tuple[int, int, int, int]] = []

    def join(a: int, b: int) -> None:
        for _ in range(draw.choice([1, 1, 2])):
            bandwidth = draw.choice([10**9, 25 * 10**8, 10**10])
            links.extend([(a, b, 0, bandwidth), (b, a, 0, bandwidth)])

    for rank in range(ranks):
        join(rank, ranks + draw.randrange(switches))
    for switch in range(1, switches):
        join(ranks + switch, ranks + draw.randrange(switch))
    for _ in range(draw.randint(0, 8)):
        a, b = draw.sample(range(switches), 2)
        join(ranks + a, ranks + b)
    return Topology.from_links("random", ranks, links, num_switches=switches)


def _job(draw: random.Random, pairs: int) -> tuple[TraceSet, list[Message]]:
    """Rank 2p sends to 2p + 1, after computation. Whole multiples of WHOLE_SHARE, which flow for
    minutes: parts are whole bytes."""
    builders, messages = [TraceBuilder() for _ in range(2 * pairs)], []
    for pair in range(pairs):
        src, dst, now = 2 * pair, 2 * pair + 1, 0
        last: tuple[int, ...] = ()
        for tag in range(draw.randint(1, 3)):
            duration, size = 10**9 * draw.randint(0, 300), WHOLE_SHARE * draw.randint(1, 3)
            now += duration
            last = (builders[src].add_comp("work", duration_ns=duration, deps=last),)
            builders[src].add_send("send", size, src=src, dst=dst, tag=tag, deps=last)
            messages.append(Message(pair, now, size, builders[dst].add_recv("recv", size, src=src, dst=dst, tag=tag)))
    return TraceSet(tuple(builder.build() for builder in builders)), messages


def _question(topology: Topology, routing: str, messages: list[Message]) -> dict[str, Any]:
    pairs = np.array([(2 * each.pair, 2 * each.pair + 1) for each in messages], np.int32)
    paths = routing_of(topology, routing).paths(topology, pairs)
    asked = []
    for number, each in enumerate(messages):
        parts = [
            [
                each.size_bytes * int(paths.shares[path]) // WHOLE_SHARE,
                float(paths.shares[path] / WHOLE_SHARE),
                paths.links[paths.link_offset[path] : paths.link_offset[path + 1]].tolist(),
            ]
            for path in range(paths.first[number], paths.first[number + 1])
        ]
        asked.append({"pair": each.pair, "start_s": each.start_ns * 1e-9, "parts": parts})
    return {"capacities": topology.bandwidth.tolist(), "messages": asked}


def _is_uneven(question: dict[str, Any]) -> bool:
    """Whether a link is crossed by flows of several weights."""
    weights: dict[int, set[float]] = {}
    for message in question["messages"]:
        for _, weight, links in message["parts"]:
            for link in links:
                weights.setdefault(link, set()).add(weight)
    return any(len(each) > 1 for each in weights.values())


def main() -> None:
    parser = command_line()
    parser.add_argument("--networks", type=int, default=120, help="random networks")
    parser.add_argument("--seed", type=int, default=0, help="of the networks")
    arguments = parser.parse_args()
    python = find_simgrid()
    if python is None:
        parser.exit(3, "error: no Python here has SimGrid's module: apt-get install python3-simgrid\n")
    results, own_s, simgrid_s = compare(python, arguments.networks, arguments.seed)
    counted = f"{'networks':>8} {'messages':>8} {'paths':>5} {'uneven':>6}"
    print(f"{'routing':<10} {counted} {'worst':>8} {'equal to 1e-6':>13}")
    for name, each in results.items():
        counts = f"{each.networks:8} {each.messages:8} {each.paths:5} {each.uneven:6}"
        print(f"{name:<10} {counts} {each.worst:8.0e} {each.equal:6} of {each.networks}")
    print(f"CPU: {own_s:.1f} s, SimGrid {simgrid_s:.1f} s")


if __name__ == "__main__":
    main()
