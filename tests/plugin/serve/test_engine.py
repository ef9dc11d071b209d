"""The engine between threads of one process: a program's part for each, real sockets and real shared memory."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import handmade
import numpy as np
import pytest

from hocket._core import executor as engine
from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.runtime.engine.library import ServedProgram
from hocket.schedule import Kind, Program, ThreadBlock

FLOAT32, SUM = 7, 0


TCP = 0  # no name nearby


@pytest.fixture(params=["tcp", "shm"])
def names(request: pytest.FixtureRequest) -> list[int]:
    """By which up to three ranks find each other on their machine."""
    return [TCP if request.param == "tcp" else secrets.randbits(62) + 1 for _ in range(3)]


def execute(
    program: Program, inputs: list[np.ndarray], names: list[int], signatures: list[int] | None = None
) -> list[np.ndarray]:
    """Out of place, or in place where the program is, every rank on a thread of its own; the outputs."""
    n = program.num_ranks
    names = names[:n]
    meshes = [engine.Mesh(rank, "127.0.0.1", 1000 + rank, name) for rank, name in enumerate(names)]
    outputs = inputs if program.in_place else [np.zeros_like(data) for data in inputs]
    chunk_bytes = inputs[0].nbytes // program.chunks_per_loop

    def rank_run(rank: int) -> None:
        part = ServedProgram("", program).part(rank)
        ports, tokens = [mesh.port for mesh in meshes], [1000 + peer for peer in range(n)]
        try:
            meshes[rank].open(part, ["127.0.0.1"] * n, ports, tokens, names, 10_000)
            signature = signatures[rank] if signatures else 1
            addresses = inputs[rank].ctypes.data, outputs[rank].ctypes.data
            engine.run(part, meshes[rank], *addresses, chunk_bytes, FLOAT32, SUM, signature, 10_000)
        except HocketError:
            meshes[rank].close()
            raise

    with ThreadPoolExecutor(n) as threads:
        list(threads.map(rank_run, range(n)))
    return outputs


def swap() -> Program:
    """Two ranks, each of which sends its whole buffer before it takes the other's."""

    def block(rank: int) -> ThreadBlock:
        send = handmade.step(handmade.S, ("i", 0), ("o", 0), count=2)
        receive = handmade.step(handmade.R, ("o", 0), ("o", 0), count=2)
        return ThreadBlock(1 - rank, 1 - rank, 0, (send, receive))

    return handmade.program(Kind.ALL_TO_ALL, (2, 2, 2, 0), [[block(rank)] for rank in range(2)], in_place=False)


def test_messages_that_no_socket_holds_do_not_deadlock(names: list[int]) -> None:
    data = [np.full(1 << 24, rank + 1, np.float32) for rank in range(2)]  # 64 MiB each way
    first, second = execute(swap(), data, names)
    assert (first == 2).all() and (second == 1).all()


@pytest.mark.parametrize("count", [1, 3, 100_003])
def test_ring_adds_up(count: int, names: list[int]) -> None:
    ranks = [np.arange(3 * count, dtype=np.float32) % 7 + rank for rank in range(3)]
    expected = 3 * (np.arange(3 * count, dtype=np.float32) % 7) + 3  # + 0 + 1 + 2
    for data in execute(handmade.ring_all_reduce(3), ranks, names):
        assert (data == expected).all()


def test_another_collective_is_noticed(names: list[int]) -> None:
    with pytest.raises(HocketError, match=r"is in another collective|lost the connection"):
        execute(handmade.ring_all_reduce(2), [np.ones(2, np.float32) for _ in range(2)], names, [1, 2])


def test_programs_that_cannot_be_run_are_refused() -> None:
    """Buffers of 1, 1 and 0 chunks, one endpoint at rank 1 on channel 0, one thread block that sends there."""

    def program(*step: int, blocks: str = "1  0 -1 1", end: str = "0") -> engine.Program:
        return engine.Program(f"1 1 0  1  1 0  {blocks}  1  {' '.join(map(str, step))}  {end}", "made")

    right = (0, 0, 0, 1, 0, 1, -1, -1)  # send i[0]
    program(*right)
    for step, why in (
        ((0, 0, 1, 1, 0, 1, -1, -1), "outside of its buffer"),
        ((1, 1, 0, 1, 0, 1, -1, -1), "has no connection"),
        ((0, 0, 0, 1, 0, 1, 3, 0), "thread block that does not exist"),
        ((0, 0, 0, 1, 0, 1, 0, 5), "step that does not exist"),
    ):
        with pytest.raises(ScheduleError, match=why):
            program(*step)
    with pytest.raises(ScheduleError, match="do not hold all steps"):
        program(*right, blocks="0")
    with pytest.raises(ScheduleError, match="a round lies outside of its buffers"):
        program(*right, end="1 0 1  1  1 3 0 1  0  0")  # sends a chunk of staging, which has none
    for broken in ({"end": ""}, {"end": "0 7"}, {"blocks": "1  5 -1 1"}, {"end": "x"}):
        with pytest.raises(FormatError, match="made: not what Hocket's launcher wrote"):
            program(*right, **broken)
    with pytest.raises(FormatError, match="no such type of step"):
        program(9, *right[1:])


def test_a_program_without_rounds_needs_connections() -> None:
    part = ServedProgram("", handmade.ring_all_reduce(2)).part(0)
    with pytest.raises(ScheduleError, match="not written for a transport that only sends and receives"):
        engine.run(part, engine.Messages(object(), False), 0, 0, 4, FLOAT32, SUM, 1, 100)


def test_a_rank_that_never_comes_is_named() -> None:
    mesh = engine.Mesh(1, "127.0.0.1", 7, TCP)
    part = ServedProgram("", handmade.ring_all_reduce(2)).part(1)
    with pytest.raises(HocketError, match="rank 0 has not connected in time"):
        mesh.open(part, ["127.0.0.1"] * 2, [mesh.port] * 2, [7, 7], [TCP] * 2, 200)
