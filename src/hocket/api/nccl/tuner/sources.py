"""What tuner tables are made from: outputs of runs, and profiles."""

from collections.abc import Sequence
from pathlib import Path

from hocket.api.nccl.request import TunerTableRequest
from hocket.base.errors import FormatError, RequestError
from hocket.calibration import Assumed, Measurement, read_measurements
from hocket.calibration.measurement import kind_named
from hocket.calibration.nccl.timings import timings
from hocket.nccl import NcclChoice, read_choice
from hocket.nccl.tuning import Timing
from hocket.recording.nccl.timings import profile_timings

__all__ = ["measured"]


def measured(request: TunerTableRequest) -> list[Timing]:
    """The timings of all files; the request says collective, ranks and nodes of those that do not."""
    if len(request.nodes) > 1:
        raise RequestError("--nodes: one number for files that do not say theirs")
    kind = kind_named(request.collective, "--collective") if request.collective else None
    assumed = Assumed(kind, request.ranks, request.nodes[0] if request.nodes else None)

    def read(paths: list[Path]) -> tuple[Measurement, ...]:
        return read_measurements(paths, assumed, partial=request.partial)

    declared: dict[NcclChoice, list[Measurement]] = {}
    for run in request.run:
        choice, path = _run(run)
        declared.setdefault(choice, []).extend(read([path]))
    (profiles, outputs), (own_profiles, own_outputs) = _apart(request.files), _apart(request.baseline)
    return [
        *timings(read(outputs), declared, read(own_outputs)),
        *(timed for path in profiles for timed in profile_timings(path)),
        *(timed for path in own_profiles for timed in profile_timings(path, own=True)),
    ]


def _apart(texts: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Profiles of jobs (folders, and single files), and outputs of benchmarks."""
    paths = [Path(text) for text in texts]
    is_profile = [path.is_dir() or path.suffix == ".ncclprofile" for path in paths]
    profiles = [path for path, found in zip(paths, is_profile, strict=True) if found]
    return profiles, [path for path, found in zip(paths, is_profile, strict=True) if not found]


def _run(text: str) -> tuple[NcclChoice, Path]:
    name, _, file = text.partition("=")
    if not file:
        raise RequestError(f"--run '{text}': expected CHOICE=FILE, as in ring/ll128=ring.txt")
    try:
        return read_choice(name), Path(file)
    except FormatError as error:
        raise RequestError(f"--run {error}") from error
