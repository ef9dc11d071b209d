"""What `hocket nccl tuner make` makes tables from: outputs of runs, and profiles."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hocket.calibration import Measurement
    from hocket.nccl import NcclChoice
    from hocket.nccl.tuning import Timing

__all__ = ["measured"]


def measured(
    files: list[Path],
    runs: list[str],
    baseline: list[Path],
    said: tuple[str | None, int | None, list[int] | None],
    *,
    partial: bool,
) -> "list[Timing]":
    """The timings of all files; `said` are collective, ranks and nodes of those that do not say them."""
    from hocket.calibration import Assumed, read_measurements
    from hocket.calibration.measurement import kind_named
    from hocket.calibration.nccl.timings import timings
    from hocket.recording.nccl.timings import profile_timings

    collective, ranks, nodes = said
    if nodes is not None and len(nodes) > 1:
        raise typer.BadParameter("--nodes: one number for files that do not say theirs")
    kind = kind_named(collective, "--collective") if collective else None
    assumed = Assumed(kind, ranks, nodes[0] if nodes else None)

    def read(paths: list[Path]) -> "tuple[Measurement, ...]":
        return read_measurements(paths, assumed, partial=partial)

    declared: dict[NcclChoice, list[Measurement]] = {}
    for run in runs:
        choice, path = _run(run)
        declared.setdefault(choice, []).extend(read([path]))
    (profiles, outputs), (own_profiles, own_outputs) = _apart(files), _apart(baseline)
    return [
        *timings(read(outputs), declared, read(own_outputs)),
        *(timed for path in profiles for timed in profile_timings(path)),
        *(timed for path in own_profiles for timed in profile_timings(path, own=True)),
    ]


def _apart(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Profiles of jobs (folders, and single files), and outputs of benchmarks."""
    is_profile = [path.is_dir() or path.suffix == ".ncclprofile" for path in paths]
    profiles = [path for path, found in zip(paths, is_profile, strict=True) if found]
    return profiles, [path for path, found in zip(paths, is_profile, strict=True) if not found]


def _run(text: str) -> "tuple[NcclChoice, Path]":
    from hocket.base.errors import FormatError
    from hocket.nccl import read_choice

    name, _, file = text.partition("=")
    if not file:
        raise typer.BadParameter(f"--run '{text}': expected CHOICE=FILE, as in ring/ll128=ring.txt")
    try:
        return read_choice(name), Path(file)
    except FormatError as error:
        raise typer.BadParameter(f"--run {error}") from error
