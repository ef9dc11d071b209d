"""One small program for each collective, written by hand: together they use every step type."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from hocket.schedule import Gpu, Kind, Program, Step, StepType, ThreadBlock
from hocket.translator import to_program_json

S, R, CPY, RE, NOP = StepType.SEND, StepType.RECEIVE, StepType.COPY, StepType.REDUCE, StepType.NOP
RCS, RRC = StepType.RECEIVE_COPY_SEND, StepType.RECEIVE_REDUCE_COPY
RRS, RRCS = StepType.RECEIVE_REDUCE_SEND, StepType.RECEIVE_REDUCE_COPY_SEND


def write(folder: Path, *programs: Program) -> Path:
    """A folder of programs, by collective and ranks."""
    folder.mkdir()
    for made in programs:
        (folder / f"{made.kind}_{made.num_ranks}.json").write_text(to_program_json(made))
    return folder


def one_of_every_kind(folder: Path) -> Path:
    """For four ranks, with every step type; for two what hybrid sharding needs."""
    return write(
        folder,
        ring_all_reduce(4),
        exchange(Kind.ALL_GATHER, 4),
        exchange(Kind.ALL_TO_ALL, 4),
        direct_reduce_scatter(4),
        chain_broadcast(4, 1),
        chain_reduce(4, 2),
        star(Kind.GATHER, 4, 3),
        star(Kind.SCATTER, 4, 0),
        ring_all_reduce(2),
        exchange(Kind.ALL_GATHER, 2),
    )


def step(type_: StepType, source: tuple[str, int], target: tuple[str, int], **rest: int) -> Step:
    return Step(type_, *source, *target, count=rest.pop("count", 1), **rest)


def program(
    kind: Kind,
    chunks: tuple[int, int, int, int],
    gpus: Iterable[Iterable[ThreadBlock]],
    in_place: bool,
    root: int = 0,
    protocol: str = "Simple",
) -> Program:
    """`chunks`: per loop, input, output, scratch."""
    loop, *buffers = chunks
    parts = tuple(Gpu(*buffers, tuple(blocks)) for blocks in gpus)
    return Program("handmade", kind, loop, 1, protocol, in_place, not in_place, 0, 0, parts, root)


def ring_all_reduce(n: int) -> Program:
    """In place, one thread block per rank: s, rrcs..., rcs..., r."""

    def steps(rank: int) -> Iterable[Step]:
        last = 2 * n - 2
        yield step(S, ("i", rank), ("i", rank), count=1)
        for turn in range(1, last + 1):
            chunk = ("i", (rank - turn) % n)
            yield step(RRCS if turn < n else RCS if turn < last else R, chunk, chunk)

    gpus = [[ThreadBlock((r + 1) % n, (r - 1) % n, 0, tuple(steps(r)))] for r in range(n)]
    return program(Kind.ALL_REDUCE, (n, n, n, 0), gpus, in_place=True)


def exchange(kind: Kind, n: int) -> Program:
    """all_gather or all_to_all, out of place: one thread block per peer, and one for the rank's own copy. f = 2."""
    f = 2

    def blocks(rank: int) -> Iterable[ThreadBlock]:
        def source(peer: int) -> tuple[str, int]:
            return ("i", peer * f if kind is Kind.ALL_TO_ALL else 0)

        yield ThreadBlock(-1, -1, 0, (step(CPY, source(rank), ("o", rank * f), count=f),))
        for turn in range(1, n):
            to, origin = (rank + turn) % n, (rank - turn) % n
            send = step(S, source(to), ("o", rank * f), count=f)
            receive = step(R, ("o", origin * f), ("o", origin * f), count=f)
            yield ThreadBlock(to, origin, 0, (send, receive))

    inputs = n * f if kind is Kind.ALL_TO_ALL else f
    return program(kind, (n * f, inputs, n * f, 0), [blocks(r) for r in range(n)], in_place=False, protocol="LL")


def direct_reduce_scatter(n: int) -> Program:
    """In place: everything is received into scratch, then one thread block adds it up, with nops for its waits."""

    def blocks(rank: int) -> Iterable[ThreadBlock]:
        for turn in range(1, n):
            to, origin = (rank + turn) % n, (rank - turn) % n
            send = step(S, ("i", to), ("s", turn - 1))
            receive = step(R, ("s", turn - 1), ("s", turn - 1), has_dependents=True)
            yield ThreadBlock(to, origin, 0, (send, receive))
        own = ("i", rank)
        waits = [step(NOP, own, own, depend_block=block, depend_step=1) for block in range(n - 2)]
        adds = [step(RE, ("s", turn), own) for turn in range(1, n - 1)]
        first = step(RE, ("s", 0), own, depend_block=n - 2, depend_step=1)
        yield ThreadBlock(-1, -1, 0, (*waits, first, *adds))

    return program(Kind.REDUCE_SCATTER, (n, n, 1, n - 1), [blocks(r) for r in range(n)], in_place=True)


def chain_broadcast(n: int, root: int) -> Program:
    """Out of place, from the root downwards, in two chunks."""

    def blocks(rank: int) -> Iterable[ThreadBlock]:
        place = (rank - root) % n
        before, after = (rank - 1) % n if place else -1, (rank + 1) % n if place < n - 1 else -1
        if rank == root:
            yield ThreadBlock(-1, -1, 0, (step(CPY, ("i", 0), ("o", 0), count=2),))
        type_ = S if rank == root else RCS if after >= 0 else R
        source = "i" if rank == root else "o"
        yield ThreadBlock(after, before, 0, tuple(step(type_, (source, k), ("o", k)) for k in range(2)))

    return program(Kind.BROADCAST, (2, 2, 2, 0), [blocks(r) for r in range(n)], in_place=False, root=root)


def chain_reduce(n: int, root: int) -> Program:
    """Out of place, towards the root: s, rrs, ..., rrc."""

    def blocks(rank: int) -> Iterable[ThreadBlock]:
        place = (rank - root) % n
        before, after = (rank + 1) % n if place < n - 1 else -1, (rank - 1) % n if place else -1
        type_ = S if place == n - 1 else RRS if place else RRC
        yield ThreadBlock(after, before, 0, (step(type_, ("i", 0), ("o", 0)),))

    return program(Kind.REDUCE, (1, 1, 1, 0), [blocks(r) for r in range(n)], in_place=False, root=root)


def star(kind: Kind, n: int, root: int) -> Program:
    """gather or scatter, out of place: the root talks to everyone."""
    gather = kind is Kind.GATHER

    def blocks(rank: int) -> Iterable[ThreadBlock]:
        if rank != root:
            end = step(S, ("i", 0), ("o", rank)) if gather else step(R, ("o", 0), ("o", 0))
            yield ThreadBlock(root if gather else -1, -1 if gather else root, 0, (end,))
            return
        source, target = (("i", 0), ("o", root)) if gather else (("i", root), ("o", 0))
        yield ThreadBlock(-1, -1, 0, (step(CPY, source, target),))
        for peer in range(n):
            if peer != root:
                end = step(R, ("o", peer), ("o", peer)) if gather else step(S, ("i", peer), ("o", 0))
                yield ThreadBlock(-1 if gather else peer, peer if gather else -1, 0, (end,))

    buffers = (1, n, 0) if gather else (n, 1, 0)
    whole = program(kind, (n, *buffers), [blocks(r) for r in range(n)], in_place=False, root=root)
    # Only the root has the large buffer.
    small = {"output_chunks": 0} if gather else {"input_chunks": 0}
    return replace(whole, gpus=tuple(gpu if r == root else replace(gpu, **small) for r, gpu in enumerate(whole.gpus)))


PROGRAMS: dict[Kind, Callable[[int], Program]] = {
    Kind.ALL_REDUCE: ring_all_reduce,
    Kind.ALL_GATHER: lambda n: exchange(Kind.ALL_GATHER, n),
    Kind.ALL_TO_ALL: lambda n: exchange(Kind.ALL_TO_ALL, n),
    Kind.REDUCE_SCATTER: direct_reduce_scatter,
    Kind.BROADCAST: lambda n: chain_broadcast(n, root=1),
    Kind.REDUCE: lambda n: chain_reduce(n, root=2),
    Kind.GATHER: lambda n: star(Kind.GATHER, n, root=1),
    Kind.SCATTER: lambda n: star(Kind.SCATTER, n, root=2),
}
