"""A job's messages on ns-3: what the program is told, and what it found."""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import Job, Plan, message_graph
from hocket.base import processes
from hocket.base.errors import SimulationError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.simulator.fidelity import Fidelity
from hocket.simulator.ns3_build import built_witness
from hocket.simulator.outcome import Outcome
from hocket.simulator.packets import Packets
from hocket.simulator.workload import NodeKind, Workload
from hocket.topology import Topology

__all__ = ["witnessed"]

_MOST_STEPS = 1 << 23
_MOST_HOPS = 200_000_000  # some minutes at a million a second
_SLOWEST = 20_000  # hops a second
_LONGEST_PACKET = 65_535  # of an ns-3 device
_OWN_HEADER, _LEAST_HEADER = 2, 6
_TRANSFER = 4  # the engine's MessageGraph::Kind


def _require_ns3(fidelity: Fidelity, topology: Topology) -> Packets:
    """The packets of a job on ns-3. Raises SimulationError for what the witness does not model."""
    packets = fidelity.packets or Packets()
    if packets != Packets(mtu=packets.mtu, header=packets.header, seed=packets.seed):
        raise SimulationError(
            "model ns3: of --packets it takes mtu, header and seed: its queues never fill, and links serve whole"
            " packets first come, first served"
        )
    if packets.header < _LEAST_HEADER or packets.mtu + packets.header - _OWN_HEADER > _LONGEST_PACKET:
        raise SimulationError(
            f"model ns3: a packet has mtu + header of at most {_LONGEST_PACKET + _OWN_HEADER} bytes, of which the"
            f" header has {_LEAST_HEADER} or more: mtu={packets.mtu},header={packets.header}"
        )
    if fidelity.overlap_slowdown != 1:
        raise SimulationError("model ns3: computation is not slowed by communication: drop --overlap-slowdown")
    if fidelity.routed(topology).policy.chooses:
        raise SimulationError(f"model ns3: routing {fidelity.routing} chooses paths as it goes: take a static one")
    return packets


def witnessed(job: Job, plans: Sequence[Plan], workload: Workload, topology: Topology, fidelity: Fidelity) -> Outcome:
    """What ns-3 makes of a job whose calls follow these plans.

    Raises SimulationError where ns-3 is not installed, the job is too large for it, it takes longer than a limit that
    grows with the packets (a second for 20,000 of them on a link), or ends with an error.
    """
    packets = _require_ns3(fidelity, topology)
    graph = message_graph(job, plans, topology.graph, packets.settings(1, topology), _MOST_STEPS)
    counts = np.diff(graph["link_offset"])
    sends = graph["kind"] == _TRANSFER
    hops = int((np.maximum(1, -(-graph["amount"][sends] // packets.mtu)) * counts[sends]).sum())
    if hops > _MOST_HOPS:
        raise SimulationError(
            f"model ns3: the job has {hops:,} packets on links, more than the {_MOST_HOPS:,} that ns-3 is asked for:"
            " take a smaller size, fewer ranks or model packet"
        )
    text = "\n".join(_lines(graph, topology, packets)) + "\n"
    found = _run(built_witness(), text, 60 + hops / _SLOWEST)
    start, end = (np.array(found[name], np.int64) for name in ("start_ps", "end_ps"))
    started, finished = start[graph["begin"]], end[graph["end"]]
    touched = np.repeat(np.arange(len(counts)), counts)
    whole = Outcome.without_network(started, finished, workload.num_ranks, topology.num_links)
    columns = {name: np.array(found[name], np.int64) for name in ("link_bytes", "link_busy_ps")}
    columns["link_messages"] = np.bincount(graph["links"][end[touched] >= 0], minlength=topology.num_links)
    return Outcome(
        **{
            **{name: getattr(whole, name) for name in Outcome.__dataclass_fields__},
            **columns,
            "cause": _causes(workload, started, finished),
            "events": found["events"],
        }
    )


def _lines(graph: dict[str, NDArray[Any]], topology: Topology, packets: Packets) -> Iterator[str]:
    """The file that the witness reads (its first lines say how)."""
    yield f"hocket-ns3 1\npackets {packets.mtu} {packets.header}\nnodes {topology.num_nodes}"
    yield f"links {topology.num_links}"
    yield from _rows(topology.src, topology.dst, topology.bandwidth, topology.latency_ps)
    yield f"steps {len(graph['kind'])}"
    offset, links = graph["link_offset"].tolist(), graph["links"].tolist()
    steps = _rows(*(graph[name] for name in ("kind", "amount", "place", "needs")), np.diff(graph["link_offset"]))
    for number, step in enumerate(steps):
        yield " ".join([step, *map(str, links[offset[number] : offset[number + 1]])])
    yield f"edges {len(graph['from_step'])}"
    yield from _rows(graph["from_step"], graph["to_step"])


def _rows(*columns: NDArray[Any]) -> Iterable[str]:
    return (" ".join(map(str, row)) for row in zip(*(column.tolist() for column in columns), strict=True))


def _run(program: Path, text: str, limit_s: float) -> dict[str, Any]:
    with scratch_folder("ns3") as folder:
        job_file = folder / "job.txt"
        hand_over(job_file, text)
        try:
            done = processes.run(
                [program, job_file],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout_s=limit_s,
                env={name: value for name, value in os.environ.items() if not name.startswith("NS_")} | {"LC_ALL": "C"},
            )
        except OSError as error:
            raise SimulationError(f"model ns3: {program} cannot be started: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise SimulationError(f"model ns3: ns-3 was not done after {limit_s:.0f} s: take a smaller size") from error
    if done.returncode != 0:
        raise SimulationError(f"model ns3: {program} ended with {done.returncode}:", *done.stderr.splitlines()[-5:])
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise SimulationError(f"model ns3: {program} printed no JSON: remove it, it is built again") from error
    return found


def _causes(workload: Workload, start: NDArray[np.int64], finish: NDArray[np.int64]) -> NDArray[np.int32]:
    """The node whose start each one's finish goes back to: of a receive that waited its sender, of a part in a
    collective the member that came last, of others themselves."""
    cause = np.arange(len(start), dtype=np.int32)
    senders = np.full(len(workload.message_src), -1)
    sends, receives = (np.flatnonzero(workload.kind == kind) for kind in (NodeKind.SEND, NodeKind.RECEIVE))
    senders[workload.operand[sends]] = sends
    late = receives[(finish[receives] > start[receives]) & (senders[workload.operand[receives]] >= 0)]
    cause[late] = senders[workload.operand[late]]
    parts = np.flatnonzero(workload.kind == NodeKind.COLLECTIVE)
    parts = parts[np.argsort(start[parts], kind="stable")]
    last = np.zeros(len(workload.call_of), np.int64)
    last[workload.operand[parts]] = parts
    of_part = last[workload.operand[parts]]
    cause[parts] = np.where(start[of_part] > start[parts], of_part, parts)
    return cause
