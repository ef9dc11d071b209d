"""Symbolic execution of a program over switches, by the very table that its kernel reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import Kind
from hocket.base.errors import ScheduleError
from hocket.schedule.switch_program import SwitchProgram

__all__ = ["SwitchProof", "execute_switches"]

_Numbers = NDArray[np.int64]
_Table = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SwitchProof:
    """What an execution proved: each wanted chunk in its place with every contribution exactly once, and no place that
    two write. Nobody waits but where all ranks meet, so that there is no deadlock."""

    in_place: bool
    chunks: int

    def describe(self) -> str:
        call = "in place" if self.in_place else "out of place"
        return f"{call}, {self.chunks} chunks over switches: no deadlock, no race, every contribution exactly once"


def execute_switches(program: SwitchProgram) -> SwitchProof:
    """Raises ScheduleError, naming rank and chunk, where a contribution is lost or counted twice, or two write to one
    place."""
    tables = [program.rows(rank) for rank in range(program.num_ranks)]
    sums = _driven(program, tables)
    outputs = _taken(program, tables, sums)
    wanted = _wanted(program)
    wrong = np.argwhere(outputs != wanted)
    if wrong.size:
        rank, chunk = wrong[0].tolist()
        found = "nothing" if outputs[rank, chunk] < 0 else _words(program, int(outputs[rank, chunk]))
        raise ScheduleError(
            f"rank {rank} output chunk {chunk} is {found}, expected {_words(program, int(wanted[rank, chunk]))}"
        )
    return SwitchProof(program.in_place, program.chunks_per_loop)


# A value is a number: of a sum the chunk of all ranks' inputs that was added, else a rank's input chunk, counted
# through all ranks; -1 is nothing.


def _driven(program: SwitchProgram, tables: list[_Table]) -> _Numbers:
    """What each chunk in the windows is after its head's work."""
    windows = _brought(program, tables) if program.adds else None
    results = np.full(program.chunks_per_loop, -1, np.int64)
    for rank, table in enumerate(tables):
        for head, first, count, source, _ in table.tolist():
            if head != rank:
                continue
            place = slice(first, first + count)
            if (results[place] >= 0).any():
                raise ScheduleError(f"chunks {first}..{first + count - 1} of head {head}: another run is there, too")
            if windows is None:
                results[place] = rank * program.input_chunks + np.arange(source, source + count)
            else:
                results[place] = _sum(windows[:, place], first)
    return results


def _brought(program: SwitchProgram, tables: list[_Table]) -> _Numbers:
    """The chunk of each rank's input that lies at each place of its window."""
    windows = np.full((program.num_ranks, program.chunks_per_loop), -1, np.int64)
    for rank, table in enumerate(tables):
        for _, first, count, source, _ in table.tolist():
            if source >= 0:
                windows[rank, first : first + count] = np.arange(source, source + count)
    return windows


def _sum(parts: _Numbers, first: int) -> _Numbers:
    """The chunk of all ranks' inputs of which that is the sum: a head reads each rank's window once."""
    strange = np.argwhere((parts != parts[0]) | (parts < 0))
    if strange.size:
        rank, place = strange[0].tolist()
        raise ScheduleError(f"the sum of chunk {first + place} of the windows lacks rank {rank}'s contribution")
    added: _Numbers = parts[0]
    return added


def _taken(program: SwitchProgram, tables: list[_Table], results: _Numbers) -> _Numbers:
    """Each rank's output."""
    outputs = np.full((program.num_ranks, program.output_chunks), -1, np.int64)
    for rank, table in enumerate(tables):
        written = np.zeros(program.output_chunks, bool)
        if program.in_place and not program.adds:  # its input, which lies there
            at = rank * program.input_chunks if program.kind.input_is_block else 0
            inputs = np.arange(program.input_chunks)
            outputs[rank, at : at + program.input_chunks] = rank * program.input_chunks + inputs
        for _, first, count, _, target in table.tolist():
            if target < 0:
                continue
            place = slice(target, target + count)
            if written[place].any():
                raise ScheduleError(f"rank {rank} output chunks {target}..{target + count - 1}: written twice")
            written[place] = True
            outputs[rank, place] = results[first : first + count]
    return outputs


def _wanted(program: SwitchProgram) -> _Numbers:
    """What each rank's output has to be."""
    chunks = np.arange(program.chunks_per_loop)
    if program.kind is Kind.REDUCE_SCATTER:
        return chunks.reshape(program.num_ranks, -1)
    if program.kind is Kind.BROADCAST:
        chunks = chunks + program.root * program.chunks_per_loop
    return np.tile(chunks, (program.num_ranks, 1))


def _words(program: SwitchProgram, value: int) -> str:
    if program.adds:
        return f"the sum of chunk {value}"
    rank, chunk = divmod(value, program.input_chunks)
    return f"rank {rank}'s chunk {chunk}"
