"""Rules of `<algo>` and `<gpu>`: sizes, channels, chunks."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import Kind
from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.profile import MAX_COUNT, Profile
from hocket.translator.msccl.rules.rule import Rule, algorithm_rule, gpu_rule

__all__ = ["ALGORITHM_RULES", "FEWER_BLOCKS", "GPU_RULES", "MAX_CHUNKS", "TOO_MANY_BLOCKS", "window"]

#: Chunks that a step can reach: offsets are 16 bits in every runtime.
MAX_CHUNKS = (1 << 15) - 1 + MAX_COUNT
WARP = 32
#: A rule, and its remedy.
TOO_MANY_BLOCKS = "too many thread blocks"
FEWER_BLOCKS = "use fewer channels or a schedule with fewer peers"


def window(columns: DocumentColumns, profile: Profile) -> tuple[int, int | None]:
    """The least and the largest size, both inclusive, that the file's numbers let a runtime select (None: no end)."""
    algorithm = columns.document.algorithm
    written = int(algorithm.long("maxBytes")[0]) if algorithm.has("maxBytes")[0] else None
    return int(algorithm.long("minBytes")[0]), profile.largest_bytes(written)


def _never_selected(columns: DocumentColumns, profile: Profile) -> bool:
    smallest, largest = window(columns, profile)
    chunks = columns.num_chunks
    return largest is not None and chunks > 0 and largest // chunks * chunks < max(smallest, 1)


def _bad_sizes(columns: DocumentColumns, profile: Profile) -> bool:
    smallest, largest = window(columns, profile)
    return profile.checks_program and (smallest < 0 or largest is None or largest + 1 < max(0, smallest))


def _no_call(columns: DocumentColumns, profile: Profile) -> bool:
    algorithm = columns.document.algorithm
    in_place, out_of_place = (bool(algorithm.number(key)[0]) for key in ("inplace", "outofplace"))
    reads = "outofplace" in profile.attributes and bool(algorithm.has("outofplace")[0])
    return reads and not in_place and not out_of_place


def _bad_threads(columns: DocumentColumns, profile: Profile) -> bool:
    return profile.checks_program and bool(columns.document.algorithm.number("nthreads")[0] % WARP)


def _channels_grade(_columns: DocumentColumns, profile: Profile, _row: int) -> Severity:
    return Severity.REJECT if profile.refuses_channels else Severity.KERNEL


def _in_place_alltoall(columns: DocumentColumns, profile: Profile) -> bool:
    algorithm = columns.document.algorithm
    in_place = bool(algorithm.number("inplace")[0])
    return (
        profile.checks_program and algorithm.text("coll", 0) == profile.collective_names[Kind.ALL_TO_ALL] and in_place
    )


def _present_ranks(columns: DocumentColumns) -> NDArray[np.int64]:
    return np.unique(columns.gpu_rank)


def _taken_for_the_built_in(columns: DocumentColumns, profile: Profile) -> bool:
    algorithm = columns.document.algorithm
    return (algorithm.text("name", 0), algorithm.text("coll", 0)) == profile.built_in


ALGORITHM_RULES: list[Rule] = [
    algorithm_rule(
        "ranks",
        Severity.KERNEL,
        lambda columns, _: columns.document.num_ranks < 1,
        lambda columns, *_: f'ngpus="{columns.document.num_ranks}": no communicator has so many ranks',
        "write the number of ranks",
        blocks=True,
    ),
    algorithm_rule(
        "chunks",
        Severity.KERNEL,
        lambda columns, _: columns.num_chunks < 1,
        lambda columns, *_: f'nchunksperloop="{columns.num_chunks}": the runtime divides by it',
        "write the number of chunks",
        blocks=True,
    ),
    algorithm_rule(
        "reach",
        Severity.WRONG,
        lambda columns, _: columns.num_chunks > MAX_CHUNKS,
        lambda columns, *_: (
            f'nchunksperloop="{columns.num_chunks}" is out of range, expected 1..{MAX_CHUNKS}: no step reaches the rest'
        ),
        "use fewer chunks",
        blocks=True,
    ),
    algorithm_rule(
        "sizes",
        Severity.REJECT,
        _bad_sizes,
        lambda columns, *_: (
            f"no size of minBytes {columns.document.algorithm.long('minBytes')[0]} to maxBytes "
            f"{columns.document.algorithm.long('maxBytes')[0]} selects the file, and the parser refuses it"
        ),
        "write minBytes <= maxBytes",
    ),
    algorithm_rule(
        "selection",
        Severity.SIZE,
        _never_selected,
        lambda columns, profile, _: (
            f"no size of minBytes {window(columns, profile)[0]} to maxBytes "
            f"{columns.document.algorithm.long('maxBytes')[0]} selects the file: it must be a multiple of "
            f"{columns.num_chunks} chunks{' and below maxBytes' if profile.max_bytes_exclusive else ''}"
        ),
        "give a wider range",
    ),
    algorithm_rule(
        "calls",
        Severity.SIZE,
        _no_call,
        lambda *_: "inplace=0 and outofplace=0: no call selects the file",
        "declare the calls it is right for",
    ),
    algorithm_rule(
        "in-place alltoall",
        Severity.SIZE,
        _in_place_alltoall,
        lambda *_: "inplace=1: this runtime refuses in-place all_to_all, and does not ask the file",
        'write inplace="0"',
    ),
    algorithm_rule(
        "built-in 2D",
        Severity.SIZE,
        _taken_for_the_built_in,
        lambda *_: 'name="2D": with alltoall this runtime takes its own two-dimensional algorithm instead of the file',
        "choose another name",
    ),
    algorithm_rule(
        "threads",
        Severity.REJECT,
        _bad_threads,
        lambda columns, *_: f'nthreads="{columns.document.algorithm.number("nthreads")[0]}" is no multiple of {WARP}',
        f"use a multiple of {WARP}",
    ),
    algorithm_rule(
        "channels",
        _channels_grade,
        lambda columns, profile: columns.num_channels > profile.max_channels,
        lambda columns, profile, _: f"{columns.num_channels} channels, limit {profile.max_channels}",
        "use fewer channels",
    ),
    algorithm_rule(
        "missing rank",
        Severity.KERNEL,
        lambda columns, _: len(_present_ranks(columns)) < columns.document.num_ranks,
        lambda columns, *_: (
            f'has no <gpu id="{_first_missing(_present_ranks(columns))}">; ids must be '
            f"0..{columns.document.num_ranks - 1} without a gap"
        ),
        "every rank must take part",
        blocks=True,
    ),
]


def _first_missing(present: NDArray[np.int64]) -> int:
    gaps = np.flatnonzero(present != np.arange(len(present)))
    return int(gaps[0]) if len(gaps) else len(present)


def _repeated_rank(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    _, first = np.unique(columns.gpu_rank, return_index=True)
    repeated = np.ones(len(columns.gpu_rank), bool)
    repeated[first] = False
    return repeated


def _inconsistent_chunks(columns: DocumentColumns, profile: Profile) -> NDArray[np.bool_]:
    kinds = {name: kind for kind, name in profile.collective_names.items()}
    kind = kinds.get(columns.document.algorithm.text("coll", 0))
    ranks = columns.document.num_ranks
    factors = np.array([ranks if kind is Kind.ALL_GATHER else 1, ranks if kind is Kind.REDUCE_SCATTER else 1])
    declared = columns.chunks[:, :2]
    wrong: NDArray[np.bool_] = ((declared > 0) & (declared * factors != columns.num_chunks)).any(axis=1)
    return wrong & profile.checks_program


GPU_RULES: list[Rule] = [
    gpu_rule(
        TOO_MANY_BLOCKS,
        Severity.REJECT,
        lambda columns, profile: columns.num_blocks > profile.max_thread_blocks,
        lambda columns, profile, row: f"{columns.num_blocks[row]} thread blocks, limit {profile.max_thread_blocks}",
        FEWER_BLOCKS,
    ),
    gpu_rule(
        "repeated rank",
        Severity.WRONG,
        _repeated_rank,
        lambda columns, _, row: f'id="{columns.gpu_rank[row]}" is used twice; the parsers mix both into one program',
        "give each rank one <gpu>",
        blocks=True,
    ),
    gpu_rule(
        "scratch",
        Severity.REJECT,
        lambda columns, _: columns.chunks[:, 2] < 0,
        lambda columns, _, row: f's_chunks="{columns.chunks[row, 2]}" is negative',
        "write 0 or more",
        blocks=True,
    ),
    gpu_rule(
        "buffers",
        Severity.SUSPECT,
        lambda columns, _: (
            ((columns.chunks[:, :2] < 0) | (columns.chunks[:, :2] > MAX_CHUNKS)).any(axis=1)
            | (columns.chunks[:, 2] > MAX_CHUNKS)
        ),
        lambda columns, _, row: f"buffers of {columns.chunks[row].tolist()} chunks; steps reach 0..{MAX_CHUNKS - 1}",
        "declare what the steps use",
        blocks=True,
    ),
    gpu_rule(
        "chunks",
        Severity.REJECT,
        _inconsistent_chunks,
        lambda columns, _, row: (
            f"i_chunks {columns.chunks[row, 0]} and o_chunks {columns.chunks[row, 1]} do not fit nchunksperloop "
            f"{columns.num_chunks} (all_gather's input and reduce_scatter's output are one rank's share)"
        ),
        "write what the collective has, or 0",
    ),
    gpu_rule(
        "thread blocks",
        Severity.KERNEL,
        lambda columns, _: columns.num_blocks == 0,
        lambda *_: "no thread block, and no runtime launches a kernel of none",
        "every rank must take part",
        blocks=True,
    ),
]
