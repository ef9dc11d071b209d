"""What Hocket uses where it is installed, by the names of the package's extras, and how to install it."""

from collections.abc import Mapping

__all__ = ["EXTRAS", "install_command"]

#: The requirements of pyproject.toml's extras that a user may want.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch>=2.4",),
    "mpi": ("mpi4py>=4", "mpich>=5"),
    "parquet": ("pyarrow>=17",),
    "dask": ("distributed>=2024.8", "dask-jobqueue>=0.9"),
    "solve": ("highspy>=1.8",),
    "stock": ("nvidia-cuda-runtime>=13", "nvidia-cuda-crt>=13", "nvidia-cuda-cccl>=13"),
}


def install_command(extra: str) -> str:
    """The command that installs an extra. It names the packages themselves, which is right for a checkout, a wheel and
    an index alike: `hocket[...]` would need an index that has Hocket."""
    return f"pip install {' '.join(repr(requirement) for requirement in EXTRAS[extra])}"
