"""What of Python's packages is here: those that Hocket needs, and those of its extras."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from shutil import which
from typing import Any

from hocket.api.doctor.findings import PartFinding, PartState
from hocket.api.progress import Progress
from hocket.api.selftest.commands import ended, printed
from hocket.base.extras import install_command
from hocket.base.scratch import scratch_folder

__all__ = ["engine", "extras", "gpus", "pytorch"]

_IMPORT_S = 120.0  # PyTorch on a cold network drive
_NEEDED = ("numpy", "msgspec", "protobuf", "PyYAML", "typer")
#: Packages by extra: the module to import, and what it adds.
_EXTRAS = {
    "mpi": ("mpi4py", "MPI jobs: hocket run --transport mpi, replay and sweeps over MPI"),
    "parquet": ("pyarrow", "tables as Parquet (--parquet)"),
    "dask": ("distributed", "sweeps on a dask cluster, or on nodes that Slurm is asked for"),
    "solve": ("highspy", "the synthesizer's engine exact, and certificates of lower bounds"),
}


def engine(progress: Progress) -> Iterator[PartFinding]:
    """The compiled engine and the packages that it cannot be without."""
    try:
        import_module("hocket._core")
        said = ", ".join(f"{name} {version(name)}" for name in _NEEDED)
    except (ImportError, PackageNotFoundError) as error:
        yield PartFinding("engine", PartState.BROKEN, str(error), "install Hocket again, or: make build")
        return
    yield PartFinding("engine", PartState.WORKS, said)


def extras(progress: Progress) -> Iterator[PartFinding]:
    """What small packages add; each is imported."""
    for extra, (module, adds) in _EXTRAS.items():
        if find_spec(module) is None:
            yield PartFinding(module, PartState.ABSENT, f"would add {adds}", install_command(extra))
            continue
        code, text = printed([sys.executable, "-c", f"import {module}"], _IMPORT_S)
        if code:
            yield PartFinding(module, PartState.BROKEN, ended(code, text), install_command(extra))
        else:
            yield PartFinding(module, PartState.WORKS, f"{_version_of(module)}; {adds}")
    if find_spec("pandas") is None:
        yield PartFinding("pandas", PartState.ABSENT, "would make tables() DataFrames", "pip install pandas")
    else:
        yield PartFinding("pandas", PartState.WORKS, f"{_version_of('pandas')}; tables() gives DataFrames")


def pytorch(progress: Progress) -> Iterator[PartFinding]:
    """PyTorch, asked in a process of its own: its import may crash, or hang at a driver."""
    if find_spec("torch") is None:
        adds = "would add collecting and replaying PyTorch jobs, and programs in place of their collectives"
        yield PartFinding("PyTorch", PartState.ABSENT, adds, install_command("torch"))
        return
    progress.status("PyTorch is imported")
    told, fault = _told_by_torch()
    if told is None:
        yield PartFinding("PyTorch", PartState.BROKEN, fault, install_command("torch"))
        return
    built = f"CUDA {told['cuda']}" if told["cuda"] else f"ROCm {told['hip']}" if told["hip"] else "CPU alone"
    nccl = f", NCCL {_version(told['nccl'])}" if told["nccl"] else ""
    backends = ", gloo" * told["gloo"]
    yield PartFinding("PyTorch", PartState.WORKS, f"{told['torch']} for {built}{nccl}{backends}")
    yield _autoload()
    if told["gpus"]:
        yield PartFinding("GPUs in PyTorch", PartState.WORKS, _counted(told["gpus"]))


def gpus(progress: Progress) -> Iterator[PartFinding]:
    """What the driver sees."""
    if which("nvidia-smi") is None:
        yield PartFinding(
            "GPU driver", PartState.ABSENT, "no nvidia-smi on PATH; programs run on this machine's processors", ""
        )
        return
    try:
        code, text = printed(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], 60.0)
    except OSError as error:
        found = f"nvidia-smi: {error.strerror}"
        yield PartFinding("GPU driver", PartState.BROKEN, found, "install the driver's tools of this machine")
        return
    rows = [line.rpartition(", ") for line in text.splitlines() if ", " in line]
    if code or not rows:
        yield PartFinding("GPU driver", PartState.BROKEN, ended(code, text), "look at what nvidia-smi says")
        return
    yield PartFinding("GPU driver", PartState.WORKS, f"{rows[0][2]}: {_counted([name for name, _, _ in rows])}")


def _autoload() -> PartFinding:
    """Whether `import torch` finds Hocket's collector by itself."""
    if any(each.name == "hocket" for each in entry_points(group="torch.backends")):
        return PartFinding("collector", PartState.WORKS, "PyTorch loads it by itself in jobs with HOCKET_COLLECT set")
    remedy = "pip install it (a checkout: pip install -e .), or hocket collect SCRIPT, which loads it itself"
    return PartFinding("collector", PartState.ABSENT, "Hocket is not installed as a package", remedy)


def _told_by_torch() -> tuple[dict[str, Any] | None, str]:
    """What PyTorch says of itself; or None and how it failed."""
    with scratch_folder("doctor") as folder:
        path = folder / "torch.json"
        code, text = printed([sys.executable, "-m", "hocket.runtime.selftest.versions", str(path)], _IMPORT_S)
        if path.is_file():
            return dict(json.loads(path.read_text(encoding="utf-8"))), ""
    return None, f"import torch {ended(code, text)}"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a folder that no installer put there
        return "of no known version"


def _version(code: int) -> str:
    """`2.29.7` of 22907."""
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"


def _counted(names: list[str]) -> str:
    """`8 x NVIDIA H100, 1 x NVIDIA T4`."""
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
