"""What is said of a name that is none of the choices."""

from collections.abc import Iterable

from hocket.base.errors import RequestError
from hocket.base.strict_yaml import nearest

__all__ = ["refused"]

#: What is meant by a name that looks like a choice and is none, where that choice is among those known.
_INSTEAD = {
    "nccl": (
        "msccl",
        "stock NCCL loads no programs: executor and msccl are forks of it that do, device serves them to PyTorch on"
        " stock NCCL",
    )
}


def refused(asked: str, value: str, known: Iterable[str]) -> RequestError:
    """The error for `value` of the option `asked`: what to take instead or the nearest name, and all there are."""
    names = [*known]
    needed, instead = _INSTEAD.get(value.lower(), ("", ""))
    said = f"{instead}; known: {', '.join(sorted(names))}" if needed in names else nearest(value, names)
    return RequestError(f"{asked} {value}: no such choice; {said}")
