"""Runs NCCL's or RCCL's own code on processors, and compares what it chose with the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.api.nccl.naming import sizes_between
from hocket.api.nccl.request import NcclStockRun
from hocket.api.nccl.stock_model import Model, model_of, modelled_choices, unknown_settings
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.cache import cache_folder
from hocket.base.collectives import called_among
from hocket.base.enums import assert_never
from hocket.base.errors import ExitCode, RequestError
from hocket.base.files import make_folder
from hocket.base.reading import read_text
from hocket.base.units import format_bytes
from hocket.nccl.stock.build import StockBuild, build
from hocket.nccl.stock.builder import Headers
from hocket.nccl.stock.choices import StockChoice, stock_choices
from hocket.nccl.stock.cuda_headers import find_cuda_headers
from hocket.nccl.stock.host_environment import ranks_of
from hocket.nccl.stock.job import KINDS, Mode, StockJob, sweep
from hocket.nccl.stock.rocm_headers import find_rocm_headers
from hocket.nccl.stock.run import Check, StockRun, run_stock
from hocket.nccl.stock.sources import NcclSources, RcclSources, read_sources
from hocket.nccl.tuning.table import read_tuner_table
from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.formats.nccl.read import read_nccl_topology
from hocket.topology.machines.hosts import Hosts, hosts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hocket.topology.formats.nccl.machine import NcclMachine

__all__ = ["StockResult", "perform"]

_MOST_MOVED = "1MiB"


@dataclass(eq=False, repr=False)
class StockResult(Report):
    """`choices` of NCCL itself, beside them what the model says, `modelled` (`Ring/LL`) and `modelled_us` (empty where
    the release or the hosts are not modelled); `checked` and `wrong` elements of `--do move`."""

    choices: Sequence[StockChoice] = ()
    modelled: Sequence[str] = ()
    modelled_us: Sequence[float] = ()
    checked: int = 0
    wrong: int = 0
    run: StockRun | None = field(default=None)

    @property
    def agreeing(self) -> int | None:
        """Choices that are the model's; None where there is none."""
        if not self.modelled:
            return None
        return sum(one.name == name for one, name in zip(self.choices, self.modelled, strict=True))

    @property
    def times_off(self) -> float | None:
        """The largest difference of NCCL's own expectation from the model's, as a share of it; None: not known."""
        times = zip(self.choices, self.modelled_us, strict=bool(self.modelled_us))
        off = [abs(one.time_us / theirs - 1) for one, theirs in times if one.time_us]
        return max(off) if off else None

    def columns(self) -> Mapping[str, Mapping[str, NDArray[np.generic]]]:
        rows = self.choices
        table: dict[str, NDArray[np.generic]] = {
            "collective": np.array([one.call.kind for one in rows]),
            "size_bytes": np.array([one.call.size_bytes for one in rows], np.int64),
            "algorithm": np.array([one.algorithm for one in rows]),
            "protocol": np.array([one.protocol for one in rows]),
            "channels": np.array([one.channels or 0 for one in rows], np.int64),
            "expected_us": np.array([np.nan if one.time_us is None else one.time_us for one in rows]),
            "modelled": np.array(self.modelled or [""] * len(rows)),
        }
        return {"choices": table}


def perform(request: NcclStockRun, progress: Progress) -> StockResult:
    """Builds NCCL where it is not built, runs the job, reads what it left."""
    mode = Mode(request.do)
    sources = read_sources(Path(request.source))
    hosts = hosts_of(request.topology, request.nodes)
    machines = _machines(request, hosts)
    headers = _headers(request, hosts, sources)
    job = _job(request, machines, mode)
    variables = _variables(request, Path(request.output))
    model, why = model_of(request, hosts, machines, sources)
    folder = _new_folder(Path(request.output))
    progress.note(
        f"{sources.library} {sources.name}: building its host code under {cache_folder()}, unless it is there"
    )
    built = build(sources, headers, make_folder(cache_folder(), 0o700), _counted(progress))
    run = run_stock(
        *(built, job, machines, folder),
        domain=hosts.domain,
        multicast=hosts.nvls is not False,
        variables=variables,
        progress=lambda done, of: progress.count(done, of, "steps"),
    )
    return _result(request, machines, built, job, run, model, why)


def _counted(progress: Progress) -> Any:
    return lambda done, of, name: progress.count(done, of, f"compiled, {name}")


def _new_folder(folder: Path) -> Path:
    if folder.exists() and any(folder.iterdir()):
        raise RequestError(f"--output {folder}: is not empty: name a new folder")
    return make_folder(folder).absolute()


def _machines(request: NcclStockRun, hosts: Hosts) -> list[NcclMachine]:
    if not request.machine:
        return [hosts.machine] * hosts.nodes
    if request.nodes not in (None, len(request.machine)):
        raise RequestError(f"--nodes {request.nodes} and {len(request.machine)} of --machine: keep one")
    return [read_nccl_topology(path) for path in request.machine]


def _headers(request: NcclStockRun, hosts: Hosts, sources: NcclSources) -> Headers:
    """Of what the sources are built over. Raises RequestError where the machine's library is another, or does not go
    as far as is asked."""
    rccl = isinstance(sources, RcclSources)
    wanted = "RCCL" if hosts.machine.dialect == Dialect.RCCL else "NCCL"
    if sources.library != wanted:
        raise RequestError(
            f"{request.topology}: its library is {wanted}, and --source {request.source} is {sources.library}: give a"
            f" checkout of {wanted}"
        )
    if not rccl:
        return find_cuda_headers(Path(request.cuda) if request.cuda else None)
    if request.do != Mode.CHOOSE:
        raise RequestError(
            f"--do {request.do}: RCCL's kernels have no stand-in, and its connections are left out: --do choose"
        )
    for flag, value in (("--profile", request.profile), ("--table", request.table), ("--job", request.job)):
        if value:
            raise RequestError(f"{flag} is of NCCL: RCCL is only asked what it chooses: drop it")
    return find_rocm_headers(Path(request.rocm) if request.rocm else None)


def _job(request: NcclStockRun, machines: Sequence[NcclMachine], mode: Mode) -> StockJob:
    ranks = [ranks_of(machine) for machine in machines]
    if request.job:
        return StockJob(tuple(ranks), tuple(read_text(request.job).splitlines()), mode, request.limit)
    asked = [called_among(name, KINDS) for name in request.collective]
    kinds = [kind for kind in KINDS if "all" in asked or kind in asked]
    if not kinds:
        raise RequestError(f"--collective {request.collective[0]}: one of {', '.join(KINDS)}, all")
    if mode is Mode.CHOOSE:
        kinds = [kind for kind in kinds if kind not in ("all_to_all", "sendrecv")]
        if not kinds:
            raise RequestError(
                f"--collective {request.collective[0]}: of messages nothing is chosen; --do enqueue or move"
            )
    most = _MOST_MOVED if mode is Mode.MOVE and request.most == "16GiB" else request.most
    sizes = sizes_between(request.least, most)
    return sweep(
        *(ranks, kinds, sizes), type=request.type, operation=request.operation, mode=mode, limit_s=request.limit
    )


def _variables(request: NcclStockRun, folder: Path) -> dict[str, str]:
    for setting in request.settings:
        if "=" not in setting:
            raise RequestError(f"--set {setting}: NAME=VALUE")
    found = dict(setting.split("=", 1) for setting in request.settings)
    if request.profile:
        found |= {"NCCL_PROFILER_PLUGIN": str(nccl_profiler_path())}
        found |= {"HOCKET_NCCL_PROFILE": str(folder.absolute() / "profile")}
        found |= {"HOCKET_NCCL_EVENTS": "collective,p2p,proxy_operation,proxy_step,kernel_channel"}
    if request.table:
        read_tuner_table(request.table)
        found |= {"NCCL_TUNER_PLUGIN": str(nccl_tuner_path())}
        found |= {"HOCKET_NCCL_TUNER_TABLE": str(Path(request.table).absolute())}
    return found


def _result(
    request: NcclStockRun,
    machines: Sequence[NcclMachine],
    built: StockBuild,
    job: StockJob,
    run: StockRun,
    model: Model | None,
    why: str,
) -> StockResult:
    ranks = sum(job.hosts)
    spec = ", ".join(request.machine) or request.topology
    nodes = f"{len(machines)} node{'s' * (len(machines) > 1)}"
    lines = [f"{built.sources.library} {built.sources.name} itself on {spec}: {nodes}, {ranks} ranks"]
    lines += [f"  note: {note}" for note in job.notes]
    lines += [f"  note: NCCL asked CUDA's driver for {name}, which the stand-in lacks" for name in run.lacking]
    choices = stock_choices(run, job) if job.calls else []
    lines += [f"  note: not compared with the model: {why}"] if why else []
    lines += [f"  note: the model does not depend on {name}" for name in unknown_settings(request.settings) if model]
    modelled, modelled_us = modelled_choices(model, choices)
    result = StockResult(request, lines, ExitCode.DONE, choices, modelled, modelled_us, run=run)
    lines += _spans(choices, modelled)
    if model is not None and choices:
        times = "" if result.times_off is None else f", times within {100 * result.times_off:.4f} %"
        lines.append(f"{result.agreeing} of {len(choices)} choices as modelled{times}")
    checks = list(run.checks())
    result.checked, result.wrong = sum(one.checked for one in checks), sum(one.wrong for one in checks)
    match job.mode:
        case Mode.MOVE:
            lines += _checked(result, checks)
        case Mode.ENQUEUE:
            lines.append(f"{run.launches} kernels launched")
        case Mode.CHOOSE:
            pass
        case _:
            assert_never(job.mode)
    lines.append(f"wrote {request.output}")
    result.exit_code = ExitCode.CHECK_FAILED if result.wrong else ExitCode.DONE
    return result


def _checked(result: StockResult, checks: Sequence[Check]) -> Iterator[str]:
    yield f"{result.checked} elements of {len(checks)} buffers checked: {result.wrong or 'none'} wrong"
    first = next((one for one in checks if one.wrong), None)
    if first:
        yield (
            f"  first: rank {first.rank}, {first.kind} of {first.bytes} B (line {first.step}): element {first.first}"
            f" is {first.got}, not {first.expected}"
        )


def _spans(choices: Sequence[StockChoice], modelled: Sequence[str]) -> Iterator[str]:
    """A line for sizes that follow one another and are chosen alike."""
    pairs = list(zip(choices, modelled or [""] * len(choices), strict=True))
    for (kind, name, theirs), grouped in groupby(pairs, key=lambda pair: (pair[0].call.kind, pair[0].name, pair[1])):
        run = [one for one, _ in grouped]
        span = f"{format_bytes(run[0].call.size_bytes)} .. {format_bytes(run[-1].call.size_bytes)}"
        channels = [one.channels for one in run if one.channels]
        times = [one.time_us for one in run if one.time_us is not None]
        on = f"{min(channels)}..{max(channels)} channels{'' if run[0].told else ' launched'}" if channels else ""
        expects = f"expects {times[0]:.2f} .. {times[-1]:.2f} us" if times else ""
        beside = "as modelled" if theirs == name else f"modelled: {theirs}" if theirs else ""
        said = f"{expects:<32} {on:<19}" if run[0].told else f"{on or expects:<34}"
        yield f"{kind:<14} {span:<22} {name:<16} {said} {beside}".rstrip()
