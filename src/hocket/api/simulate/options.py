"""How `simulate` reads its fields: what is wrong is a RequestError that lists what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from hocket.api.reading import one_of
from hocket.api.simulate.request import Disturbances, FidelityOptions, PredictionOutputs
from hocket.base.collectives import called_among
from hocket.base.errors import HocketError, RequestError
from hocket.base.files import is_streamed
from hocket.base.late_imports import late_imports
from hocket.base.units import parse_bytes, parse_sizes, parse_time
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.simulator import Disturbance, Fidelity, Flow, Model, Queueing, Switching
from hocket.simulator.algorithm_choice import AUTO, DEFAULT_ALGORITHMS, LIBRARY
from hocket.simulator.packets import parse_packets
from hocket.topology import Topology, read_routing

with late_imports(__name__):
    from hocket.simulator.analysis import require_parquet

__all__ = [
    "algorithms_of",
    "check_outputs",
    "disturbance_of",
    "fidelity_of",
    "fraction",
    "link_setting",
    "require_classes",
    "sizes_of",
]

_LINK_BINS = 256


@lru_cache(maxsize=16)
def fidelity_of(chosen: FidelityOptions, outputs: PredictionOutputs) -> Fidelity:
    """The fidelity that is asked for, with what the outputs need recorded."""
    model = one_of("--model", chosen.model or Model.CONGESTION, Model)
    if chosen.queueing and model != Model.CONGESTION:
        raise RequestError(f"--queueing: disciplines are for model congestion, {model} has no queues: drop it")
    if chosen.packets is not None and model not in (Model.PACKET, Model.NS3):
        raise RequestError(
            f"--packets: they are for models packet and ns3, {model} has none: add --model packet, or drop it"
        )
    switching = link_setting("--switching", chosen.switching or [Switching.CUT_THROUGH], Switching)
    if model == Model.NS3:
        if chosen.switching and set(switching.values()) != {Switching.STORE_AND_FORWARD}:
            raise RequestError("--switching: ns-3's devices store and forward: drop it, or take --model packet")
        switching = {"*": Switching.STORE_AND_FORWARD}
    analysed = bool(outputs.tables or outputs.report)
    return Fidelity(
        model,
        switching,
        link_setting("--queueing", chosen.queueing or [Queueing.FIFO], Queueing),
        fraction("--overlap-slowdown", chosen.overlap_slowdown, 1),
        record_links=outputs.timeline is not None,
        link_bins=_LINK_BINS if analysed else 0,
        latencies=analysed,
        routing=None if chosen.routing is None else read_routing(chosen.routing, "--routing").name,
        packets=None if chosen.packets is None else parse_packets(chosen.packets),
    )


def link_setting(option: str, texts: Sequence[str], values: Iterable[str]) -> dict[str, str]:
    """`VALUE` (for all links) and `CLASS=VALUE` as a mapping, `*` for what is not named."""
    chosen = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        chosen[name if separator else "*"] = one_of(option, value, values)
    return chosen


def require_classes(fidelity: Fidelity, topology: Topology) -> None:
    """Every class of links that is named is one of the topology's."""
    for option, setting in (("--switching", fidelity.switching), ("--queueing", fidelity.queueing)):
        for name in setting if not isinstance(setting, str) else ():
            if name not in (*topology.classes, "*"):
                raise RequestError(
                    f"{option} {name}: the classes of links of {topology.name} are {', '.join(topology.classes)}"
                )


def algorithms_of(texts: Sequence[str]) -> dict[str, str] | str:
    """`KIND=NAME` as a mapping; `auto`, `library`, `nccl` and `nccl-model` alone are for all kinds."""
    if len(texts) == 1 and (texts[0] in (AUTO, LIBRARY) or is_nccl(texts[0]) or is_nccl_model(texts[0])):
        return texts[0]
    chosen = {}
    for text in texts:
        kind, separator, name = text.partition("=")
        if not separator:
            raise RequestError(f"--algorithm {text}: expected auto or KIND=NAME, such as all_reduce=ring")
        chosen[called_among(kind, DEFAULT_ALGORITHMS)] = name
    return chosen


def disturbance_of(said: Disturbances) -> Disturbance:
    """What `RANK=TIME` and `RANK-RANK=SIZE` say."""
    late = [_split("--late", text, "([0-9]+)=(.+)") for text in said.late]
    traffic = [_split("--traffic", text, "([0-9]+)-([0-9]+)=(.+)") for text in said.traffic]
    try:
        return Disturbance(
            {int(rank): parse_time(time) for rank, time in late},
            [Flow(int(src), int(dst), parse_bytes(size)) for src, dst, size in traffic],
        )
    except HocketError as error:
        raise RequestError(str(error)) from error


def _split(option: str, text: str, pattern: str) -> tuple[str, ...]:
    found = re.fullmatch(pattern, text)
    if not found:
        raise RequestError(f"{option} {text}: expected such as --late 3=50us, --traffic 0-9=64MiB")
    return found.groups()


def fraction(option: str, text: str, least: int) -> Fraction:
    """An exact number of at least `least`."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(least - 1)
    if number < least:
        raise RequestError(f"{option} {text}: expected a number of at least {least}, such as 1.15 or 3/2")
    return number


def sizes_of(text: str) -> list[int]:
    """Bytes: a size, or all of a range."""
    try:
        return parse_sizes(text)
    except HocketError as error:
        raise RequestError(f"--size {text}: {error}") from error


def check_outputs(outputs: PredictionOutputs) -> None:
    """Refuses outputs that cannot be: a timeline by another name than that of JSON."""
    if outputs.parquet and not outputs.tables:
        raise RequestError("--parquet says how --tables are written: add --tables DIR")
    if outputs.parquet:
        require_parquet()
    timeline = outputs.timeline
    if timeline is None and (outputs.timeline_ranks or outputs.timeline_time or outputs.timeline_links):
        raise RequestError("--timeline-ranks, --timeline-time and --timeline-links go with --timeline FILE")
    if timeline and not timeline.endswith((".json", ".json.gz")) and not is_streamed(timeline):
        raise RequestError(f"--timeline {timeline}: it is JSON: name it FILE.json or FILE.json.gz")
