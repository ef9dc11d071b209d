"""Performs a sweep of synthetic traffic."""

from __future__ import annotations

from hocket.api.progress import Progress
from hocket.api.reading import bytes_of
from hocket.api.simulate.options import link_setting
from hocket.api.traffic.request import SyntheticTraffic
from hocket.api.traffic.result import TrafficResult
from hocket.base.errors import HocketError, RequestError
from hocket.base.files import require_place
from hocket.base.units import format_time, parse_time
from hocket.simulator import Fidelity, Model, Switching, parse_packets
from hocket.simulator.offered_traffic import OfferedTraffic, TrafficPoint, TrafficSetup
from hocket.simulator.traffic_sweep import parse_loads, sweep_traffic
from hocket.topology import load, read_routing

__all__ = ["perform"]

_BINS = 128


def perform(request: SyntheticTraffic, progress: Progress) -> TrafficResult:
    """Runs each load, and writes what is wanted of it.

    Raises RequestError for options that make no sense together, and SimulationError for what the topology cannot have.
    """
    for output in (request.json, request.csv, request.report):
        if output is not None:
            require_place(output)
    windows = _windows(request)
    if windows and "load" in request.set_fields():
        raise RequestError("--window says how many messages are under way, --load how often they come: drop one")
    loads = parse_loads(request.load)
    topology = load(request.topology)
    traffic = OfferedTraffic(topology, _setup(request), _fidelity(request))

    def said(point: TrafficPoint) -> None:
        at = f"window {point.window}" if point.load is None else f"load {point.load:.0%}"
        progress.note(f"{at}: {point.throughput:.1%} carried, {format_time(round(point.mean_ps))} on average")

    result = TrafficResult(request, sweep_traffic(traffic, loads, windows, said))
    result.write()
    return result


def _windows(request: SyntheticTraffic) -> list[int]:
    words = [word.strip() for text in request.window for word in text.split(",")]
    if not all(word.isdecimal() and 0 < int(word) <= 1 << 20 for word in words):
        raise RequestError(f"--window {','.join(words)}: expected numbers of messages, such as 1,2,4,8")
    return [int(word) for word in words]


def _setup(request: SyntheticTraffic) -> TrafficSetup:
    duration_ps = _time("--duration", request.duration)
    return TrafficSetup(
        pattern=request.pattern,
        message_bytes=bytes_of("--size", request.size),
        duration_ps=duration_ps,
        from_ps=duration_ps // 2 if request.warm_up is None else _time("--warm-up", request.warm_up),
        seed=request.seed,
        bins=_BINS,
    )


def _time(option: str, text: str) -> int:
    try:
        return parse_time(text)
    except HocketError as error:
        raise RequestError(f"{option}: {error}") from error


def _fidelity(request: SyntheticTraffic) -> Fidelity:
    return Fidelity(
        Model.PACKET,
        link_setting("--switching", request.switching or [Switching.CUT_THROUGH], Switching),
        routing=None if request.routing is None else read_routing(request.routing, "--routing").name,
        packets=None if request.packets is None else parse_packets(request.packets),
    )
