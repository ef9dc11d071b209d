"""What tuner tables are made from without runs: the model, fitted parameters, simulation."""

from collections.abc import Iterator, Sequence

from hocket.api.nccl.naming import release_named, settings_named
from hocket.api.progress import Progress
from hocket.base.errors import FormatError, ScheduleError
from hocket.calibration import FREE, read_parameters
from hocket.calibration.nccl.timings import calibrated_timings
from hocket.nccl import NcclChoice, NcclModel
from hocket.nccl.fitted import NCCL_NAMES
from hocket.nccl.fitted_file import calibration_of
from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.nccl.programs.spec import model_of_hosts, settings_on
from hocket.nccl.tuning import Timing, model_choices
from hocket.simulator import simulate_kernel, simulate_program
from hocket.topology import Topology, load
from hocket.topology.machines.hosts import hosts_of

__all__ = ["calibrated", "models_of", "simulated"]

_HOPELESS = 4  # a choice that NCCL expects to take so many times its own is not simulated


def models_of(machine: str, nodes: Sequence[int], assignments: Sequence[str], version: str) -> list[NcclModel]:
    """NCCL of a version on so many such nodes; as many as `machine` says where there are none."""
    release = release_named(version)
    counts: Sequence[int | None] = nodes or [None]
    several = [hosts_of(machine, count) for count in dict.fromkeys(counts)]
    return [model_of_hosts(hosts, settings_named(settings_on(hosts, assignments), release)) for hosts in several]


def calibrated(
    models: Sequence[NcclModel], collectives: Sequence[str], sizes: Sequence[int], path: str
) -> tuple[list[Timing], dict[tuple[str, int, int], int]]:
    """The timings that fitted parameters tell, at four sizes a doubling, and their noise (ppm) by collective, nodes and
    ranks."""

    calibration = calibration_of(path, models[0])
    free = read_parameters(path) if calibration.best == FREE else None
    grid = sorted({size * part // 4 for size in sizes for part in range(4, 8)})
    found = [timed for model in models for timed in calibrated_timings(calibration, model, collectives, grid, free)]
    if not found:
        ranks = ", ".join(f"{model.ranks} ranks of {model.nodes} nodes" for model in models)
        raise FormatError(
            f"{path}: no two choices of {', '.join(collectives)} were fitted on {ranks}: say --nodes and --collective"
            " as measured"
        )
    noise = {
        (NCCL_NAMES[fit.kind], fit.nodes, fit.ranks): round(fit.noise * 10**6)
        for fit in calibration.fits
        if fit.kind in NCCL_NAMES
    }
    return found, noise


def simulated(
    models: Sequence[NcclModel], spec: str, collectives: Sequence[str], sizes: Sequence[int], progress: Progress
) -> list[Timing]:
    """The simulated times, on the topology `spec`, of NCCL's own choice and of all others that are not hopeless; those
    that cannot be simulated are printed with why."""

    topology = load(spec)
    if len(models) != 1 or topology.num_ranks != models[0].ranks:
        ranks = ", ".join(str(model.ranks) for model in models)
        raise FormatError(
            f"{spec} has {topology.num_ranks} ranks, --topology and --nodes {ranks}: say those of one cluster"
        )
    (model,) = models
    found: list[Timing] = []
    without: dict[str, str] = {}
    for collective in collectives:
        whole = [size for size in sizes if size % model.ranks == 0 or collective not in ("AllGather", "ReduceScatter")]
        for size, own in zip(whole, model_choices(model, collective, whole), strict=True):
            for choice in _hopeful(model, collective, size, own):
                if choice.name in without:
                    continue
                try:
                    time_ps = _simulated_ps(model, topology, collective, size, choice)
                except ScheduleError as error:
                    if choice == own:
                        raise
                    without[choice.name] = str(error)
                    progress.say(f"note: not simulated: {error}")
                    continue
                where = collective, model.ranks, model.nodes, size, False, time_ps
                found.append(Timing(*where, choice, own=choice == own, place=spec))
    return found


def _hopeful(model: NcclModel, collective: str, size: int, own: NcclChoice) -> Iterator[NcclChoice]:
    """NCCL's own choice, and those that it does not expect to take many times as long."""

    terms = [term for term in model.terms(collective, size) if not term.out]
    least = min(term.time_us for term in terms)
    for term in terms:
        choice = NcclChoice(term.algorithm, term.protocol)
        if choice == own or term.time_us <= _HOPELESS * least:
            yield choice


def _simulated_ps(model: NcclModel, topology: Topology, collective: str, size: int, choice: NcclChoice) -> int:
    program = nccl_program(model, collective, size, choice.algorithm, choice.protocol)
    if isinstance(program, NcclProgram):
        return simulate_program(program.program, topology, size, passes=program.passes).time_ps
    return simulate_kernel(program, topology).time_ps
