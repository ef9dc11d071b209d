"""What nccl-tests writes with `-J FILE` (versions 1 to 3 of its format)."""

import re
from typing import Annotated, Any

import msgspec

from hocket.base.collectives import bus_factor
from hocket.base.errors import FormatError
from hocket.calibration.measurement import Assumed, BenchmarkRun, Measurement, kind_named
from hocket.calibration.readers.printed import Printed, PrintedRow, check_row
from hocket.nccl.fitted import NCCL_NAMES
from hocket.nccl.releases import version_of_code

__all__ = ["read_nccl_tests_json"]

VERSIONS = (1, 2, 3)
_PRINTED = 5e-7  # half of the last digit of C's %lf

Positive = Annotated[float, msgspec.Meta(gt=0)]


class Half(msgspec.Struct, forbid_unknown_fields=True):
    """Times in us, bandwidths in GB/s. `nwrong` is null where nothing was checked."""

    alg_bw: float
    bus_bw: float
    time: Positive | None = None
    cpu_time: Positive | None = None
    nwrong: float | None = None


class Result(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=0, lt=2**55)]
    count: int
    type: str
    redop: str
    root: str
    out_of_place: Half | None = None
    in_place: Half | None = None
    out_of_place_per_iter: Any = None
    in_place_per_iter: Any = None
    actual_iterations: Any = None
    experiment_name: str | None = None


class Device(msgspec.Struct):
    rank: int
    hostname: str
    device_info: str = ""


class Config(msgspec.Struct):
    """Each process has `nthreads` x `ngpus` ranks."""

    nthreads: Annotated[int, msgspec.Meta(ge=1, lt=1024)]
    ngpus: Annotated[int, msgspec.Meta(ge=1, lt=1024)]
    devices: list[Device]


class Bounds(msgspec.Struct):
    count: int


class Output(msgspec.Struct):
    """The parts that are used; a run that was cut off has no end time."""

    version: int
    args: list[str]
    config: Config
    results: list[Result]
    out_of_bounds: Bounds
    end_time: str
    env: list[str] | None = None
    nccl_version: Annotated[int, msgspec.Meta(ge=1)] | None = None


def read_nccl_tests_json(content: Any, source: str, assumed: Assumed) -> tuple[Measurement, ...]:
    """The measurements of decoded JSON.

    Raises FormatError, naming file and entry, for another version, a run that did not end, unknown keys, numbers that
    do not agree, and wrong results.
    """
    version = content.get("version")
    if version not in VERSIONS:
        raise FormatError(
            f"{source}: version {version} of nccl-tests' JSON; known: {', '.join(map(str, VERSIONS))}; the table that"
            " the program prints is read too"
        )
    try:
        output = msgspec.convert(content, Output)
    except msgspec.ValidationError as error:
        cut = " (the run was cut off: let it finish)" if "end_time" in str(error) else ""
        raise FormatError(f"{source}: {error}{cut}") from error
    if output.out_of_bounds.count:
        raise FormatError(
            f"{source}: {output.out_of_bounds.count} wrong values: what computes wrongly is not calibrated"
        )
    ranks, nodes = _machine(output, source, assumed)
    program = output.args[0].replace("\\", "/").rpartition("/")[2] if output.args else ""
    named = next((result.experiment_name for result in output.results if result.experiment_name), None)
    kind = kind_named(program or named or "", source) if program or named else assumed.kind
    if kind is None:
        raise FormatError(f"{source}: args do not say which program ran: say --collective")
    factor = bus_factor(kind, ranks)
    run = _run(output)
    forced = run.forced(kind, source) if kind in NCCL_NAMES else None
    choice = forced.choice if forced else None
    found = []
    for at, result in enumerate(output.results):
        for half, in_place in ((result.out_of_place, False), (result.in_place, True)):
            place = f"{source}: results[{at}]{'.in_place' if in_place else '.out_of_place'}"
            if half is None or result.size == 0:
                continue
            if half.time is None:
                raise FormatError(f"{place}: no time: cpu_time is not the collective's; run without -C")
            row = PrintedRow(
                result.size,
                Printed(half.time, _PRINTED),
                Printed(half.alg_bw, _PRINTED),
                Printed(half.bus_bw, _PRINTED),
            )
            check_row(row, factor, place)
            measured = kind, ranks, nodes, row.size_bytes, row.time_ps, in_place, place
            found.append(Measurement(*measured, choice=choice, run=run))
    return tuple(found)


def _run(output: Output) -> BenchmarkRun:
    devices = frozenset(device.device_info for device in output.config.devices if device.device_info)
    version = version_of_code(output.nccl_version) if output.nccl_version else None
    if output.env is None:
        return BenchmarkRun(devices, None, version)
    return BenchmarkRun(
        devices, dict(each.split("=", 1) for each in output.env if re.match(r"NCCL_\w+=", each)), version
    )


def _machine(output: Output, source: str, assumed: Assumed) -> tuple[int, int]:
    """Ranks and nodes: all devices are listed, or the first of each process."""
    config = output.config
    listed = sorted(device.rank for device in config.devices)
    of_process = config.nthreads * config.ngpus
    processes = range(0, len(listed) * of_process, of_process)
    if listed != list(range(len(listed))) and listed != list(processes):
        raise FormatError(f"{source}: config.devices lists ranks {listed}: expected 0, 1, 2, ...: it is damaged")
    ranks = len(listed) if of_process > 1 and listed == list(range(len(listed))) != [0] else len(processes) * of_process
    if ranks < 2:
        raise FormatError(f"{source}: a run of one rank moves nothing over a network: take one of two or more")
    return ranks, assumed.nodes or len({device.hostname for device in config.devices})
