"""Which library runs a simulation's collectives on a machine, and what is assumed of both."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hocket.api.simulate.question import Question
from hocket.api.simulate.rccl import rccl_of
from hocket.api.simulate.request import Simulation
from hocket.base.enums import StrEnum
from hocket.base.errors import HocketError, RequestError, TopologyError
from hocket.base.late_imports import late_imports
from hocket.base.reading import content_digest
from hocket.base.units import format_time
from hocket.nccl.words import is_nccl, is_nccl_model
from hocket.simulator import Prediction
from hocket.simulator.algorithm_choice import LIBRARY
from hocket.topology import Topology, load
from hocket.topology.spec import is_graph, with_nvswitches

with late_imports(__name__):
    from hocket.api.nccl.naming import release_named
    from hocket.nccl import NcclModel
    from hocket.nccl.libraries import LIBRARIES, library_of
    from hocket.nccl.programs.spec import model_of
    from hocket.nccl.rccl import RcclModel
    from hocket.nccl.releases import NEWEST, Release
    from hocket.simulator.curves import SimulatedCurve
    from hocket.topology.machines.hosts import Hosts, hosts_of, hosts_of_one_kind
    from hocket.topology.machines.integrated_machines import INTEGRATED

__all__ = [
    "MEASURED",
    "CollectiveLibrary",
    "StockMachine",
    "WhoseTimes",
    "asks_for_library",
    "asks_of_links",
    "assumed_of_curves",
    "is_of_library",
    "sound_topology",
    "stock_machine",
    "with_own_links",
]

MEASURED = "as measured"
"""Before the name of an algorithm that takes the time of public measurements."""
_NVLS = "nvls=1"
_OF_NCCL = ("nccl_machine", "nccl_set", "nccl_version")
_OF_LINKS = re.compile("[:,](link|latency|oversubscription)=[^,]*")
_COUNTED = re.compile("about ([0-9,]+) messages")
_LAUNCH_PS = 6_600_000
"""What launches a library's kernel that is not modelled: as NCCL's least (its rings by LL: docs/nccl-model.md)."""
_AUTO = "native algorithms by latency and bandwidth, the fastest on its links (auto)"


class CollectiveLibrary(StrEnum):
    """What `--library` may say."""

    NCCL = "nccl"
    NONE = "none"


class WhoseTimes(StrEnum):
    """What `--times` may say."""

    NCCL = "nccl"
    MEASURED = "measured"


@dataclass(frozen=True)
class StockMachine:
    """A topology with the library that runs there: NCCL, or none (None), or RCCL. `assumed` says so in sentences."""

    topology: Topology
    nccl: NcclModel | None
    assumed: tuple[str, ...]
    launch_ps: int = 0  # of what native algorithms do in place of a library that is not modelled
    rccl: RcclModel | None = None  # whose times single collectives take, where its model has them

    def said(self, prediction: Prediction) -> Prediction:
        """The prediction, with what is assumed of the machine; of a single collective the library's choice too."""
        names = [call.algorithm for call in prediction.collectives] if self.nccl else []
        words = ["NCCL's model ", "NCCL ", f"{MEASURED} "]
        chosen = [name.removeprefix(word) for name in names for word in words if name.startswith(word)]
        choice = f": it takes {chosen[0]}" if len(names) == 1 and chosen else ""
        machine = [each + choice * (at == 0) for at, each in enumerate(self.assumed)]
        return replace(prediction, assumed=(*machine, *prediction.assumed))


def is_of_library(name: str) -> bool:
    """Whether the algorithm is the library's."""
    return name == LIBRARY or is_nccl(name) or is_nccl_model(name)


def asks_for_library(request: Simulation, names: Iterable[str], *, covers_all: bool) -> bool:
    """Whether a library runs any collective, where there is one; the names of algorithms may be for all collectives.

    Raises RequestError for options of a library where none runs, and of native algorithms where it runs all.
    """
    names = [*names]
    ours = [name for name in names if is_of_library(name)]
    options = [f"--nccl-{name[5:]}" for name in _OF_NCCL if name in request.set_fields()]
    if request.library == CollectiveLibrary.NONE:
        if ours or options:
            raise RequestError(
                f"--library none runs no library: drop it, or {'--algorithm ' + ours[0] if ours else options[0]}"
            )
        return False
    runs = bool(ours) or not (names and covers_all)
    if not runs and (request.library or options):
        what = f"--library {request.library}" if request.library else options[0]
        raise RequestError(f"{what} is for the library's algorithms, not for {', '.join(names)}: drop one of them")
    if runs and len(ours) == len(names) and "chunks" in request.set_fields() and request.topology:
        raise RequestError(
            f"--chunks {request.chunks} is for native algorithms, and a library runs: name one with --algorithm, or"
            " take --library none"
        )
    return runs


def asks_of_links(request: Simulation, machine: StockMachine, spec: str) -> bool:
    """Whether it asks what the links do, or they are not those of the machines by name, of which alone NCCL's model
    knows, so that the library's programs are run on them."""
    asked = {"model", "switching", "queueing", "degrade", "routing"} & request.set_fields().keys()
    modelled = machine.nccl is not None or machine.rccl is not None
    return bool(asked) or (modelled and with_own_links(machine.topology, spec) is not None)


def with_own_links(topology: Topology, spec: str) -> str | None:
    """Names the machines that the topology is made of with the links that they have by name, where its links are
    others: by the spec's keys, or in a file that was changed, but for what a calibration has fitted."""
    by_name = not os.path.isfile(spec) and not _OF_LINKS.search(spec)
    if by_name or len(topology.cluster) != 1 or _calibration(spec):
        return None
    bare = _OF_LINKS.sub("", topology.cluster[0])
    bare = bare if ":" in bare else bare.replace(",", ":", 1)
    own = _loaded(bare)
    alike = replace(topology, in_network=own.in_network)
    return None if own.routing == alike.routing and own.fingerprint == alike.fingerprint else bare


@lru_cache(maxsize=16)
def _loaded(spec: str) -> Topology:
    return load(spec)


def stock_machine(question: Question, spec: str, *, runs: bool, native: str, alpha_beta: str = _AUTO) -> StockMachine:
    """The topology that `spec` names, with its library where it `runs`; `native` says what runs where there is none,
    `alpha_beta` what stands in for one that is not modelled.

    Raises FormatError or TopologyError where the library is insisted on and not known there, RequestError for a version
    that is none.
    """
    request = question.request
    if not runs:
        asked = (f"no library, as asked: {native}",) if request.library else ()
        return StockMachine(question.topology(spec), None, asked)
    own = request.nccl.nccl_machine
    insists = request.library is not None or own is not None or bool(request.nccl.nccl_set)
    insists = insists or request.nccl.nccl_version != NEWEST.version
    insists = insists or any(is_of_library(name.rpartition("=")[2]) for name in request.algorithm)
    plain = question.topology(spec)
    if not insists and (hosts := _hosts(spec)) is None:
        return StockMachine(plain, None, (f"no library ({_why_none(spec)}): {native}",))
    if not insists and hosts is not None and library_of(hosts) is LIBRARIES["rccl"]:
        return _of_rccl(plain, hosts, alpha_beta)
    by = _calibration(spec) if own is None else None
    release = release_named(request.nccl.nccl_version)
    try:
        named = any(map(content_digest, filter(None, (spec, own))))  # files may be others the next time
        nccl = (model_of if named else _model_of)(spec, plain.num_ranks, own, request.nccl.nccl_set, release)
    except HocketError as error:
        if insists or by:
            raise
        return StockMachine(plain, None, (f"no library ({error}): {native}",))
    topology = _computing(question.topology, spec)
    described = _described(nccl, topology) + (f", calibrated by {by}" if by else "")
    notes = (note for note in (*release.notes(), *nccl.machine.notes) if note not in topology.notes)
    return StockMachine(topology, nccl, (described, *notes))


@lru_cache(maxsize=16)
def _model_of(spec: str, num_ranks: int, machine: str | None, settings: tuple[str, ...], release: Release) -> NcclModel:
    """NCCL on machines that no file describes: one for all simulations, so that what it finds for a process group of
    one is there for the next."""
    return model_of(spec, num_ranks, machine, settings, release)


def assumed_of_curves(machines: Mapping[str, StockMachine], curves: Sequence[SimulatedCurve]) -> list[str]:
    """What is assumed of each machine and of its curves, naming the machine where there are several."""
    found = []
    for spec, machine in machines.items():
        of_curves = _counts_joined(sentence for curve in curves if curve.topology == spec for sentence in curve.assumed)
        label = f"{spec}: " if len(machines) > 1 else ""
        found += [label + sentence for sentence in dict.fromkeys((*machine.assumed, *of_curves))]
    return found


def _counts_joined(sentences: Iterable[str]) -> list[str]:
    """Sentences that differ in how many messages they count alone as one, with the least and the largest number."""
    found: dict[str, list[int]] = {}
    for sentence in sentences:
        counts = found.setdefault(_COUNTED.sub("about {} messages", sentence), [])
        counts += [int(number.replace(",", "")) for number in _COUNTED.findall(sentence)]
    ranges = {words: dict.fromkeys((min(counts), max(counts))) for words, counts in found.items() if counts}
    return [
        words.replace("{}", " to ".join(f"{count:,}" for count in ranges[words])) if words in ranges else words
        for words in found
    ]


def _hosts(spec: str) -> Hosts | None:
    """The machines that the spec names alone."""
    if is_graph(spec) and not os.path.isfile(spec):
        return None
    try:
        return hosts_of(spec)
    except HocketError:  # a pure graph, or machines of several kinds
        return None


def _calibration(spec: str) -> str | None:
    """The file of what was measured on the machines that the spec names."""
    hosts = _hosts(spec)
    return hosts.calibration if hosts else None


def _why_none(spec: str) -> str:
    """Why no library is known where a spec names no machines that one is known of.

    Raises TopologyError where it names some, but GPUs that are no whole hosts: times of the network alone in place of
    the library's would be several times too short."""
    try:
        if not is_graph(spec) or os.path.isfile(spec):
            hosts_of_one_kind(spec)
    except TopologyError as error:
        raise TopologyError(
            f"{error}; or --library none for times of the network alone, without NCCL's costs"
        ) from None
    own = INTEGRATED.get(re.split("[:,]", spec.strip(), maxsplit=1)[0])
    return f"{own.library}, not modelled" if own else "the topology is of no single kind of machine"


def _of_rccl(topology: Topology, hosts: Hosts, alpha_beta: str) -> StockMachine:
    """AMD's machines: RCCL's times of single collectives where its model has them, else what stands in for it."""
    title = LIBRARIES["rccl"].title
    launched = f"{alpha_beta}, each after the launch of a kernel as of NCCL's, {format_time(_LAUNCH_PS)}"
    model, why = rccl_of(hosts)
    if model is None:
        return StockMachine(topology, None, (f"no library ({title}: {why}): {launched}",), _LAUNCH_PS)
    sentence = f"{title} on {hosts.machine.source} of {model.ranks} GPUs; what its model has no time of: {launched}"
    return StockMachine(topology, None, (sentence,), _LAUNCH_PS, model)


def sound_topology(machine: StockMachine, spec: str) -> Topology:
    """The topology as the library's model takes it: nothing degraded, links as those of the machines by name."""
    return _computing(_loaded, with_own_links(machine.topology, spec) or spec)


def _computing(topology: Callable[[str], Topology], spec: str) -> Topology:
    """The topology whose NVSwitches compute where they can and the spec does not say whether they do."""
    hosts = _hosts(spec)
    if hosts is None or hosts.nvls is not None:
        return topology(spec)
    if os.path.isfile(spec):
        return with_nvswitches(topology(spec))
    try:
        return topology(f"{spec}{',' if ':' in spec else ':'}{_NVLS}")
    except TopologyError:  # it has none that can
        return topology(spec)


def _described(nccl: NcclModel, topology: Topology) -> str:
    gpus = f"{nccl.ranks // nccl.nodes} GPU{'s' * (nccl.ranks > nccl.nodes)}"
    nodes = f"{nccl.nodes} x " if nccl.nodes > 1 else ""
    machines = f"{nodes}{nccl.machine.source} of {gpus}"
    if nccl.domain > 1:
        machines = f"{nccl.nodes} trays of {nccl.machine.source}, {gpus} each"
    switches = ", NVSwitches compute" if topology.in_network else ""
    return f"NCCL {nccl.release.version} on {machines}{switches}"
