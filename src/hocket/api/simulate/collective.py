"""A collective on topologies, at one size or several, by one algorithm or several."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hocket.api.simulate.library import (
    MEASURED,
    StockMachine,
    WhoseTimes,
    asks_for_library,
    asks_of_links,
    assumed_of_curves,
    is_of_library,
    sound_topology,
    stock_machine,
)
from hocket.api.simulate.options import sizes_of
from hocket.api.simulate.own_times import MEASURED_BY_FILE, OwnTimes, own_times
from hocket.api.simulate.question import Question
from hocket.api.simulate.rccl import rccl_time
from hocket.api.simulate.result import CurvesResult, SimulationResult
from hocket.base.collectives import kind_called
from hocket.base.errors import HocketError, RequestError, SimulationError
from hocket.base.late_imports import late_imports
from hocket.base.units import format_bytes, format_time
from hocket.nccl.words import MODEL, NCCL, is_nccl
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS
from hocket.simulator import Disturbance, Prediction, simulate_collective, simulate_expected
from hocket.simulator.algorithm_choice import AUTO, LIBRARY

with late_imports(__name__):
    from hocket.api.alike import MeasuredAlike, measured_alike
    from hocket.nccl import NcclModel
    from hocket.nccl.fitted import NCCL_NAMES
    from hocket.nccl.programs.spec import NcclAlgorithm
    from hocket.simulator.curves import SimulatedCurve, curve_of_predictions

__all__ = ["simulate"]

_PS = 10**6  # of a us
_MODELS = {"model", "switching", "queueing"}
_NATIVE = "the native algorithm that is fastest on its links (auto)"


def simulate(question: Question) -> SimulationResult | CurvesResult:
    """A prediction a topology, or a curve for each topology and algorithm."""
    request = question.request
    if request.size is None:
        raise RequestError(f"--size is missing: {request.what} of how many bytes? such as --size 64MiB")
    if request.root and not Kind(request.what).rooted:
        raise RequestError(f"--root {request.root}: {request.what} has no root: drop it")
    own = own_times(request)
    names = [MEASURED_BY_FILE] if own else [_of_kind(request.what, name) for name in request.algorithm]
    runs = own is None and asks_for_library(request, names, covers_all=True)
    sizes = sizes_of(request.size)
    machines = {
        spec: own.machine(question.topology(spec), sizes)
        if own
        else stock_machine(question, spec, runs=runs, native=_NATIVE)
        for spec in request.topology
    }
    contenders = [
        _Contender(question, spec, machines[spec], name, own)
        for spec in request.topology
        for name in names or [LIBRARY if machines[spec].nccl else AUTO]
    ]
    if request.times and own is None and not any(is_of_library(each.name) and each.machine.nccl for each in contenders):
        raise RequestError(f"--times {request.times} is of collectives that NCCL runs, and it runs none here: drop it")
    if len(sizes) == 1 and len(names) <= 1:
        return SimulationResult(request, [each.beside_measured(each.predict(sizes[0])) for each in contenders])
    if request.outputs.timeline or request.outputs.tables:
        raise RequestError("--timeline and --tables are for one size and algorithm; several have --csv")
    curves = _curves(question, contenders, sizes)
    several = len(request.topology) > 1
    measured = [f"{each.spec}: {line}" if several else line for each in contenders for line in each.measured(sizes)]
    return CurvesResult(request, request.what, curves, assumed_of_curves(machines, curves), measured)


def _of_kind(kind: str, text: str) -> str:
    """The algorithm of `KIND=NAME`, whatever others call the kind, or of `NAME`."""
    named, _, name = text.partition("=")
    return name if kind_called(named) == kind else text


@dataclass(frozen=True)
class _Contender:
    """An algorithm on a machine."""

    question: Question
    spec: str
    machine: StockMachine
    name: str
    own: OwnTimes | None = None

    def predict(self, size: int, latencies: bool = False) -> Prediction:
        question, request, ours = self.question, self.question.request, is_of_library(self.name)
        # Native algorithms are judged on the network as the spec has it.
        topology = self.machine.topology if ours else question.topology(self.spec)
        collective = Collective(Kind(request.what), topology.num_ranks, size, request.chunks, request.root or 0)
        if self.own is not None:
            return self.machine.said(self.own.predict(collective, topology, question.fidelity))
        told = self._by_measurements(max(size, 1)) if self._takes_measured else self._told(collective)
        if told is not None:
            return self.machine.said(simulate_expected(collective, topology, *told, question.fidelity))
        found = simulate_collective(
            collective,
            topology,
            self._algorithm,
            fidelity=replace(question.fidelity, latencies=True) if latencies else question.fidelity,
            nccl=self.machine.nccl if ours else None,
            disturbance=question.disturbance,
            by_chunks=asks_of_links(request, self.machine, self.spec),
            launch_ps=self.machine.launch_ps if self.name == AUTO else 0,
        )
        if not latencies:  # which are the program's own
            found = self._beside_model(collective, found)
        return self.machine.said(found) if ours or not self.machine.nccl else found

    def _beside_model(self, collective: Collective, found: Prediction) -> Prediction:
        """Of NCCL's own choice on slower links, chunk by chunk: as much later as the same on sound links is quicker
        than its model says. So links that are slower take longer than the model's time, and never less.

        Who asks for a model of the network has its answer alone.
        """
        nccl, asked, name = self.machine.nccl, self.question.request.set_fields(), found.collectives[0].algorithm
        if nccl is None or self.name != LIBRARY or not name.startswith("NCCL ") or asked.keys() & _MODELS:
            return found
        own, fidelity = f"{NCCL}:{name.removeprefix('NCCL ').lower()}", self.question.fidelity
        sound = simulate_collective(
            collective,
            sound_topology(self.machine, self.spec),
            own,
            fidelity=replace(fidelity, routing=None),
            nccl=nccl,
        )
        later_ps = self._model_ps(nccl, collective.size_bytes) - sound.time_ps
        if later_ps <= 0 or found.time_ps < sound.time_ps:
            return found
        late = Disturbance(late_ps=dict.fromkeys(range(collective.num_ranks), later_ps))
        later = simulate_collective(
            collective, self.machine.topology, own, fidelity=fidelity, nccl=nccl, disturbance=late
        )
        sentence = "as much later as on sound links they are quicker than its model says"
        return replace(later, assumed=(*found.assumed, sentence))

    def _model_ps(self, nccl: NcclModel, size: int) -> int:
        collective = Collective(Kind(self.question.request.what), nccl.ranks, max(size, 1))
        return NcclAlgorithm().expected(nccl, collective).time_ps

    def _told(self, collective: Collective) -> tuple[str, int] | None:
        """The algorithm and time (ps) that RCCL's model says, where that is what is asked for."""
        said, model = self.question.request.disturbances, self.machine.rccl
        if model is None or said.late or said.traffic or asks_of_links(self.question.request, self.machine, self.spec):
            return None
        found = rccl_time(model, collective.kind, collective.size_bytes)
        return (found.algorithm, found.time_ps) if found else None

    @property
    def _takes_measured(self) -> bool:
        return self.question.request.times == WhoseTimes.MEASURED and is_of_library(self.name)

    def _by_measurements(self, size: int) -> tuple[str, int]:
        """What NCCL takes, and how long (ps) by public tables of nodes like these. Raises RequestError where they do
        not tell it."""
        request, nccl = self.question.request, self.machine.nccl
        other = next((name for name in ("late", "traffic") if getattr(request.disturbances, name)), None)
        if other or self.name not in (LIBRARY, MODEL) or asks_of_links(request, self.machine, self.spec):
            what = f"--{other}" if other else "what is asked of algorithms and links"
            raise RequestError(f"--times measured is of what NCCL itself does on sound machines: drop it, or {what}")
        if nccl is not None and nccl.measured is not None:
            raise RequestError(f"--times measured: {self.spec} has a calibration of its own, which tells more: drop it")
        found = self._alike([size])
        if nccl is None or found is None or not found.known:
            raise RequestError(
                f"--times measured: of {request.what} no nodes like {self.spec} were measured (docs/transfer.md): take"
                " --times nccl, or rows of your own (hocket calibrate -o FILE)"
            )
        chosen = nccl.choose(NCCL_NAMES[request.what], [size]).name(0)
        return f"{MEASURED} {chosen}", round(float(found.time_us[0]) * _PS)

    def beside_measured(self, prediction: Prediction) -> Prediction:
        """With a note of what nodes like these took, where the time is that of NCCL's model or theirs; or of what its
        model says, where its programs ran on the links."""
        names = [call.algorithm for call in prediction.collectives]
        sizes = [prediction.collectives[0].size_bytes]
        own = self._is_own_choice(names)
        if own and asks_of_links(self.question.request, self.machine, self.spec):
            return prediction  # the model's time where a program cannot be; measurements are of sound machines
        found = self._alike(sizes) if own else None
        notes = [found.sentence()] if found else self._by_model(sizes)
        return replace(prediction, notes=(*prediction.notes, *notes))

    def _by_model(self, sizes: list[int]) -> list[str]:
        """What NCCL's model says where its programs run on the links instead: both are to be seen."""
        nccl, kind = self.machine.nccl, self.question.request.what
        by_chunks = asks_of_links(self.question.request, self.machine, self.spec)
        if nccl is None or self.name != LIBRARY or not by_chunks or kind not in NCCL_NAMES:
            return []
        each = [f"{format_time(self._model_ps(nccl, size))} at {format_bytes(size)}" for size in sizes]
        return [f"NCCL's model, which knows no links: {', '.join(each)} (--algorithm {MODEL})"]

    def measured(self, sizes: list[int]) -> list[str]:
        """What nodes like these took, in lines, where the time is NCCL's own choice in that of its model; or what its
        model says."""
        asked = asks_of_links(self.question.request, self.machine, self.spec)
        found = None if asked or self.name not in (LIBRARY, MODEL) else self._alike(sizes)
        return [*found.lines()] if found else self._by_model(sizes)

    def _is_own_choice(self, names: list[str]) -> bool:
        own = self.name in (LIBRARY, MODEL)
        return own and len(names) == 1 and names[0].startswith(("NCCL's model ", f"{MEASURED} "))

    def _alike(self, sizes: list[int]) -> MeasuredAlike | None:
        nccl = self.machine.nccl
        return measured_alike(nccl, self.question.request.what, sizes) if nccl else None

    @property
    def _algorithm(self) -> str:
        """The library's program, where something disturbs it: only programs can be."""
        said = self.question.request.disturbances
        return NCCL if self.name == LIBRARY and (said.late or said.traffic) else self.name

    def curve(self, sizes: list[int]) -> SimulatedCurve:
        # NCCL's programs have no size 0; a float of each rank is the least.
        least = 4 * self.machine.topology.num_ranks if is_nccl(self._algorithm) else 0
        return curve_of_predictions(self.spec, self.name, sizes, self.predict, least_bytes=least)


def _curves(question: Question, contenders: list[_Contender], sizes: list[int]) -> list[SimulatedCurve]:
    """The curves, but for native algorithms that cannot do this where others can: a note."""
    found: list[SimulatedCurve] = []
    skipped: list[str] = []
    for each in contenders:
        try:
            found.append(each.curve(sizes))
        except HocketError as error:
            if each.name not in ALGORITHMS:
                raise
            skipped.append(f"{each.spec}: {error}")
    if not found:
        raise SimulationError(skipped[0])
    for reason in skipped:
        question.progress.note(f"note: skipped: {reason}")
    return found
