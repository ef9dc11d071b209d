"""What a recording cannot tell whatever happens in its job: standing limits, each with the jobs that it applies to.

What is only seen from inside a process (symmetric memory, other libraries, forks) the collector tells the stream.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Limit", "RecordingFacts", "limits_of"]

# From which PyTorch on Python can read a call's reduction.
_READABLE = (2, 15)


@dataclass(frozen=True)
class RecordingFacts:
    """Of a rank's recording what limits depend on: `torch` and `mpi` are versions or "", `hook` the collector's remark,
    `backends` those of its groups, `timed` whether devices or NCCL told times, `asynchronous` whether any call was;
    `first_step` before which nothing is recorded, because a cap in bytes `cut` it or as was asked for, `gaps` steps
    between that are not."""

    torch: str
    mpi: str
    hook: str
    backends: frozenset[str]
    timed: bool
    asynchronous: bool
    first_step: int
    cut: bool
    gaps: int


@dataclass(frozen=True)
class Limit:
    """A sentence that holds of jobs with such facts; it may name a fact in braces."""

    applies: Callable[[RecordingFacts], bool]
    what: str


_LIMITS = (
    Limit(
        lambda facts: facts.hook.startswith("python") and _version(facts.torch) < _READABLE,
        "reductions (SUM, MAX, ...) are not recorded: the Python hook cannot read them in PyTorch {torch}",
    ),
    Limit(
        lambda facts: _on_nccl(facts) and not facts.timed,
        "when calls ran on devices: the device's events tell no times, ends are those that the host saw, unless NCCL's"
        " profile is joined in",
    ),
    Limit(
        lambda facts: facts.first_step > 0 and not facts.cut,
        "calls before step {first_step} are not recorded, as was asked for",
    ),
    Limit(
        lambda facts: facts.first_step > 0 and facts.cut,
        "calls before step {first_step} are not recorded: the cap in bytes took them",
    ),
    Limit(lambda facts: facts.gaps > 0, "calls of {gaps} steps outside of the windows are not recorded"),
    Limit(
        lambda facts: bool(facts.mpi) and facts.asynchronous,
        "when nonblocking operations ended: they end where a wait or a test returned",
    ),
    Limit(
        lambda facts: bool(facts.mpi),
        "what devices compute, and what libraries beside MPI (NCCL, UCX, OpenSHMEM) communicate, is not recorded",
    ),
)


def limits_of(facts: RecordingFacts) -> Iterator[str]:
    """The limits of a rank's recording, in words."""
    for limit in _LIMITS:
        if limit.applies(facts):
            yield limit.what.format(**vars(facts))


def _version(torch: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", torch)[:2])


def _on_nccl(facts: RecordingFacts) -> bool:
    return any(name in backend for backend in facts.backends for name in ("nccl", "xccl"))
