"""Leaves a job's proved programs where the library in its processes finds them, and reports afterwards what ran."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hocket.base.files import make_folder
from hocket.plugin.native_build import cache_folder
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.library import IN_PLACE, Library, ServedProgram, read_library
from hocket.schedule import plan_exchanges
from hocket.schedule.exchange import EXCHANGE_BUFFERS, Exchange, ExchangeMessage, Piece
from hocket.schedule.memory import call_sizes

__all__ = ["served"]

_FOLDER_VARIABLE = (
    "HOCKET_MPI_ALGORITHMS"  # not HOCKET_ALGORITHMS: that arms the executor in PyTorch, which may be there
)


@contextmanager
def served(source: str | None) -> Iterator[dict[str, str]]:
    """The variables with which a job's processes run the programs of `source`, as `read_library` takes them, while
    inside; none without a source. At the end says which ran, as a job under PyTorch does.

    Processes on other machines read the programs in the cache folder, which they share. Raises what `read_library`
    does for programs that are not right, and HocketError where the cache cannot be written.
    """
    if not source:
        yield {}
        return
    library = read_library(source)
    with TemporaryDirectory(prefix="algorithms-", dir=make_folder(cache_folder(), 0o700)) as name:
        folder = Path(name)
        _write(library, folder)
        yield {_FOLDER_VARIABLE: name}
        _report(library, folder / "counts")


def _write(library: Library, folder: Path) -> None:
    """The files that plugin/mpi/algorithms.cpp reads: an index, and what each rank does in each program."""
    numbered = [entry for entry in enumerate(library.algorithms) if entry[1].program.max_bytes >= 0]
    # of two that could serve a call the one of its own way with buffers comes first
    numbered.sort(key=lambda entry: _in_place(entry[1]) is not (entry[1].program.kind in IN_PLACE))
    lines = [str(len(numbered))]
    for number, algorithm in numbered:
        program, in_place = algorithm.program, _in_place(algorithm)
        sizes = program.min_bytes, program.max_bytes or -1
        fields = number, program.kind, program.num_ranks, program.root, int(in_place), program.chunks_per_loop, *sizes
        lines.append(" ".join(map(str, fields)))
        for rank, plan in enumerate(plan_exchanges(program, in_place).ranks):
            chunks = *call_sizes(program, rank), program.gpus[rank].scratch_chunks, plan.staging_chunks
            head = " ".join(map(str, (*chunks, len(plan.exchanges))))
            text = "\n".join([head, *map(_exchange, plan.exchanges)])
            (folder / f"{number}.{rank}").write_text(text + "\n")
    (folder / "index").write_text("\n".join(lines) + "\n")


def _in_place(algorithm: ServedProgram) -> bool:
    """The way with buffers in which a program is used: the one that its calls are made in, if it is right for that."""
    program = algorithm.program
    return program.in_place if program.kind in IN_PLACE else not program.out_of_place


def _exchange(exchange: Exchange) -> str:
    steps = [
        f"{_piece(step.source)} {_piece(step.other)} {_piece(step.target)} {step.chunks}"
        for step in exchange.local_steps
    ]
    parts = [_messages(exchange.sends), _messages(exchange.receives), " ".join([str(len(steps)), *steps])]
    return "  ".join(parts)


def _messages(messages: tuple[ExchangeMessage, ...]) -> str:
    written = [f"{message.peer} {_piece(message.place)} {message.chunks}" for message in messages]
    return " ".join([str(len(written)), *written])


def _piece(piece: Piece | None) -> str:
    return "-1 0" if piece is None else f"{EXCHANGE_BUFFERS.index(piece.buffer)} {piece.offset}"


def _report(library: Library, path: Path) -> None:
    if not path.is_file():
        print(
            f"hocket: algorithms of {library.source}: rank 0 did not come to MPI_Finalize: no counts", file=sys.stderr
        )
        return
    counts = Counts(library)
    for line in map(json.loads, path.read_text().splitlines()):
        if line["k"] == "ran":
            counts.add(library.algorithms[line["algorithm"]].name, line["bytes"], line["calls"])
        else:
            counts.add_stock(line["operation"], line["reason"], line["calls"])
    counts.report()
