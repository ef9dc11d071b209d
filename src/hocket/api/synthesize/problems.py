"""What a synthesis is asked for: one collective, or the same for several groups at once."""

from pathlib import Path

import numpy as np

from hocket.api.synthesize.request import Synthesis
from hocket.base.errors import FormatError, RequestError
from hocket.base.reading import read_text
from hocket.base.units import parse_bytes, parse_sizes
from hocket.schedule import Collective, Kind
from hocket.schedule.conditions_file import load_conditions
from hocket.synthesizer import Problem
from hocket.synthesizer.barrier import BARRIER, barrier
from hocket.topology import Topology
from hocket.topology.naming import parse_spans

__all__ = ["check_collective", "chooses_chunks", "read_priorities", "read_problems", "read_sizes"]


def check_collective(request: Synthesis) -> None:
    """Raises RequestError where the fields that say which collective it is contradict each other."""
    flags = [
        name
        for name, value in (
            ("--size", request.size),
            ("--sizes", request.sizes),
            ("--conditions", request.conditions),
        )
        if value is not None
    ]
    kind = request.collective
    wanted = {BARRIER: [], str(Kind.CUSTOM): ["--conditions"]}.get(kind)
    if (len(flags) != 1 or flags == ["--conditions"]) if wanted is None else flags != wanted:
        takes = "one of --size and --sizes" if wanted is None else " ".join(wanted) or "none of --size and --sizes"
        raise RequestError(f"{kind} takes {takes}, got {' '.join(flags) or 'none'}")
    if wanted is not None and request.chunks is not None:
        raise RequestError(f"{kind} takes no --chunks")


def chooses_chunks(request: Synthesis) -> bool:
    """Whether the chunks per rank are ours to choose."""
    return request.chunks is None and request.collective not in (BARRIER, Kind.CUSTOM)


def read_sizes(request: Synthesis) -> list[int]:
    """Those of `size`, ascending; none without. Raises FormatError for what is no size."""
    sizes = parse_sizes(request.size) if request.size is not None else []
    if sizes and sizes[0] == 0:
        raise FormatError("--size must be at least 1 byte")
    return sizes


def read_problems(request: Synthesis, topology: Topology) -> list[Problem]:
    """What is asked of each group, or of all ranks when there are none."""
    groups = request.groups
    if not groups.group:
        return [Problem(_collective(request, topology.num_ranks), topology, request.blocking)]
    problems = []
    for text in groups.group:
        ranks = parse_spans(text)
        if len(set(ranks)) < len(ranks) or max(ranks) >= topology.num_ranks:
            raise FormatError(f"--group {text}: expected different ranks of 0 to {topology.num_ranks - 1}")
        if len(ranks) < 2:
            raise FormatError(f"--group {text}: a group needs two ranks or more, such as --group 0,1 or --group 0-3")
        collective = _collective(request, len(ranks))
        problems.append(Problem(collective, topology, request.blocking, np.array(ranks, np.int32), groups.relays))
    return problems


def read_priorities(request: Synthesis) -> list[int] | None:
    """One number for each group."""
    text, groups = request.groups.priority, len(request.groups.group)
    if text is None:
        return None
    numbers = text.split(",")
    if len(numbers) != groups or not all(number.strip().isdecimal() and len(number) < 10 for number in numbers):
        raise RequestError(f"--priority {text}: expected a number for each of the {groups} --group")
    return [int(number) for number in numbers]


def _collective(request: Synthesis, ranks: int) -> Collective:
    """What so many ranks are to do, with the largest size."""
    if request.collective == BARRIER:
        return barrier(ranks)
    if request.conditions is not None:
        return load_conditions(Path(request.conditions))
    kind, chunks = Kind(request.collective), request.chunks or 1
    if request.sizes is not None:
        content = read_text(request.sizes) if Path(request.sizes).is_file() else request.sizes
        blocks = [parse_bytes(size) for size in content.replace(",", " ").split()]
        return Collective.uneven(kind, ranks, blocks, chunks, request.root)
    return Collective(kind, ranks, read_sizes(request)[-1], chunks, request.root)
