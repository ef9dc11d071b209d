"""What a collection needs before the job begins: PyTorch, new enough, and the script."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from hocket.base.errors import FormatError, HocketError
from hocket.base.extras import install_command

__all__ = ["check_script", "check_torch"]

# The first whose dispatcher gives a kernel in Python its key set.
_OLDEST_TORCH = (2, 4)


def check_torch() -> None:
    """Raises HocketError when PyTorch is not installed, or is older than the hooks need."""
    remedy = install_command("torch")
    if find_spec("torch") is None:
        raise HocketError(f"collecting needs PyTorch, which is not installed: {remedy}")
    found = version("torch")
    if tuple(map(int, found.split(".")[:2])) < _OLDEST_TORCH:
        oldest = ".".join(map(str, _OLDEST_TORCH))
        raise HocketError(f"collecting needs PyTorch {oldest} or newer, not {found}: {remedy}")


def check_script(script: str) -> None:
    """Raises what `check_torch` does, and FormatError when there is no such script."""
    check_torch()
    if not Path(script).is_file():
        raise FormatError(f"{script}: no such script")
