"""Algorithms written by hand: right ones are lowered and proved, wrong ones refused at their line."""

import inspect
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Kind, Program, Step, StepType, execute
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator import PROFILES, Algorithm, Lowering

RANKS = 4


def ring_all_gather(count: int = 1, in_place: bool = True) -> Algorithm:
    with Algorithm(Kind.ALL_GATHER, RANKS, RANKS * count, in_place=in_place) as algorithm:
        for rank in range(RANKS):
            chunk = algorithm.chunk(rank, "input", 0, count)
            if not in_place:
                chunk = chunk.copy(rank, "output", rank * count)
            for step in range(1, RANKS):
                chunk = chunk.copy((rank + step) % RANKS, "output", rank * count)
    return algorithm


def ring_all_reduce() -> Algorithm:
    with Algorithm(Kind.ALL_REDUCE, RANKS, RANKS) as algorithm:
        for index in range(RANKS):
            chunk = algorithm.chunk(index, "input", index)
            for step in range(1, RANKS):
                chunk = algorithm.chunk((index + step) % RANKS, "input", index).reduce(chunk)
            for step in range(RANKS, 2 * RANKS - 1):
                chunk = chunk.copy((index + step) % RANKS, "input", index)
    return algorithm


def all_pairs_all_reduce() -> Algorithm:
    """Every rank gets all others' parts of its chunk into scratch and adds them up."""
    with Algorithm(Kind.ALL_REDUCE, RANKS, RANKS) as algorithm:
        for rank in range(RANKS):
            for peer in range(RANKS):
                if peer != rank:
                    algorithm.chunk(peer, "input", rank).copy(rank, "scratch", peer)
        for rank in range(RANKS):
            for peer in range(RANKS):
                if peer != rank:
                    algorithm.chunk(rank, "input", rank).reduce(algorithm.chunk(rank, "scratch", peer))
        for rank in range(RANKS):
            for peer in range(RANKS):
                if peer != rank:
                    algorithm.chunk(rank, "input", rank).copy(peer, "input", rank)
    return algorithm


def direct_reduce_scatter() -> Algorithm:
    """Sums are built in the output while inputs stay: out of place."""
    with Algorithm("reduce_scatter", RANKS, RANKS, in_place=False) as algorithm:
        for rank in range(RANKS):
            total = algorithm.chunk(rank, "input", rank).copy(rank, "output", 0)
            for peer in range(1, RANKS):
                total = total.reduce(algorithm.chunk((rank + peer) % RANKS, "input", rank))
    return algorithm


def all_to_all_in_place() -> Algorithm:
    """What no schedule can say: through scratch, so that nothing is overwritten before it is sent."""
    with Algorithm(Kind.ALL_TO_ALL, RANKS, RANKS) as algorithm:
        for rank in range(RANKS):
            for peer in range(RANKS):
                if peer != rank:
                    algorithm.chunk(rank, "input", peer).copy(peer, "scratch", rank, channel=(rank + peer) % 2)
        for rank in range(RANKS):
            for peer in range(RANKS):
                if peer != rank:
                    algorithm.chunk(rank, "scratch", peer).copy(rank, "output", peer)
    return algorithm


def chain_broadcast() -> Algorithm:
    with Algorithm(Kind.BROADCAST, RANKS, 3, root=1) as algorithm:
        for index in range(3):
            chunk = algorithm.chunk(1, "input", index)
            for rank in (2, 3, 0):
                chunk = chunk.copy(rank, "output", index)
    return algorithm


WRITTEN = [
    ring_all_gather,
    ring_all_reduce,
    all_pairs_all_reduce,
    direct_reduce_scatter,
    all_to_all_in_place,
    chain_broadcast,
]


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("write", WRITTEN)
def test_algorithms_are_proved_for_every_runtime(write: Callable[[], Algorithm], profile: str, slots: int) -> None:
    algorithm = write()
    if write is all_to_all_in_place and profile == "msccl":
        with pytest.raises(ScheduleError, match="this runtime refuses in-place all_to_all"):
            algorithm.lower(profile, Lowering(slots=slots))
        return
    translation = algorithm.lower(profile, Lowering(slots=slots, max_bytes=1 << 20))
    assert [proof.fifo_depth for proof in translation.proofs] == [slots, 2]
    program = translation.program
    size = program.chunks_per_loop * 4096
    assert simulate_program(program, load("ring:4,bandwidth=10GB/s,latency=1us"), size).time_ps > 0


def test_a_ring_is_fused_into_one_thread_block_a_rank() -> None:
    program = ring_all_reduce().lower("msccl", Lowering(slots=2)).program
    assert [len(gpu.thread_blocks) for gpu in program.gpus] == [1] * RANKS
    types = {step.type for gpu in program.gpus for block in gpu.thread_blocks for step in block.steps}
    assert {"rcs", "rrc", "rrcs"} & types


@pytest.mark.parametrize(("count", "instances", "channels"), [(1, 3, 1), (80, 1, 1), (5, 2, 2)])
def test_counts_instances_and_channels(count: int, instances: int, channels: int) -> None:
    for in_place in (True, False):
        algorithm = ring_all_gather(count, in_place)
        program = algorithm.lower("executor", Lowering(instances=instances, channels=channels)).program
        assert program.chunks_per_loop == RANKS * count * instances
        # 80 chunks are more than the 71 of a step
        assert max(step.count for step in steps(program)) == min(count, 71)


def steps(program: Program) -> list[Step]:
    return [step for gpu in program.gpus for block in gpu.thread_blocks for step in block.steps]


def test_channels_are_connections() -> None:
    program = all_to_all_in_place().lower("executor").program
    connections = {(rank, block.send) for rank, gpu in enumerate(program.gpus) for block in gpu.thread_blocks}
    assert len({pair for pair in connections if pair[1] >= 0}) == RANKS * (RANKS - 1)
    with Algorithm(Kind.BROADCAST, 2, 4) as algorithm:
        for index in range(4):
            algorithm.chunk(0, "input", index).copy(1, "output", index, channel=index % 2)
    program = algorithm.lower("executor").program
    assert sorted((block.channel, len(block.steps)) for block in program.gpus[0].thread_blocks) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("slots", [1, 2])
def test_a_sum_into_another_index_is_right(profile: str, slots: int) -> None:
    """MSCCLang takes the sender's index as that of the local operand (rrc of srcoff 0 to dstoff 1): silently wrong."""
    with Algorithm(Kind.REDUCE, 3, 2, root=2) as algorithm:
        for index in range(2):
            moved = algorithm.chunk(0, "input", index).copy(1, "scratch", 1 - index)
            total = moved.reduce(algorithm.chunk(1, "input", index))
            algorithm.chunk(2, "input", index).reduce(total)
    program = algorithm.lower(profile, Lowering(slots=slots)).program
    execute(program, fifo_depth=8)
    sums = [step for step in steps(program) if step.type is StepType.RECEIVE_REDUCE_COPY]
    assert all((step.src_buffer, step.src_offset) == (step.dst_buffer, step.dst_offset) for step in sums)
    assert bool(sums) == (profile != "rccl")


def refused(write: Callable[[Algorithm], object], reason: str, line: int, **arguments: object) -> None:
    """Refused for the reason, at that line (from 0) of `write`."""
    algorithm = Algorithm(Kind.ALL_REDUCE, 3, 3, **arguments)  # type: ignore[arg-type]  # values of several types
    with pytest.raises(ScheduleError) as caught:
        write(algorithm)
        algorithm.check()
    first = inspect.getsourcelines(write)[1]
    assert str(caught.value).startswith(f"{__file__}:{first + line}: ")
    assert reason in str(caught.value)


def test_a_chunk_that_was_overwritten() -> None:
    def write(algorithm: Algorithm) -> None:
        stale = algorithm.chunk(0, "input", 0)
        stale.reduce(algorithm.chunk(1, "input", 0))
        stale.copy(2, "input", 0)

    refused(write, "rank 0 i[0] was overwritten at", 3)


def test_a_contribution_twice() -> None:
    def write(algorithm: Algorithm) -> None:
        total = algorithm.chunk(0, "output", 1).reduce(algorithm.chunk(1, "input", 1))
        total.reduce(algorithm.chunk(1, "input", 1))

    refused(write, "rank 0 i[1] would have rank 1's part of chunk 1 twice", 2)


def test_what_holds_nothing() -> None:
    def write(algorithm: Algorithm) -> None:
        algorithm.chunk(0, "scratch", 5).copy(1, "input", 0)

    refused(write, "rank 0 s[5] holds nothing yet", 1)


def test_places_that_are_none() -> None:
    refused(lambda algorithm: algorithm.chunk(3, "input", 0), "rank 3 is not one of 0 to 2", 0)
    refused(lambda algorithm: algorithm.chunk(0, "input", 2, 2), "2 chunks from 2 on: the input of rank 0 has 3", 0)
    refused(lambda algorithm: algorithm.chunk(0, "inptu", 0), "no buffer 'inptu'; buffers: input, output", 0)
    refused(lambda a: a.chunk(0, "input", 0, 2).copy(0, "output", 1), "source and destination overlap", 0)
    refused(lambda a: a.chunk(0, "input", 0, 2).reduce(a.chunk(1, "input", 0)), "1 chunks cannot be added to 2", 0)


def test_a_wrong_result_names_the_line_that_wrote_it() -> None:
    def write(algorithm: Algorithm) -> None:
        for index in range(3):
            total = algorithm.chunk(0, "input", index).reduce(algorithm.chunk(1, "input", index))
            if index < 2:
                total = total.reduce(algorithm.chunk(2, "input", index))
            total.copy(1, "input", index)
            total.copy(2, "input", index)

    refused(write, "rank 0 i[2] must hold chunk 2 of every rank, but rank 2's part of chunk 2 is missing", 2)


def test_an_unfinished_algorithm_does_not_leave_its_block() -> None:
    expected = r"by_hand, never written: rank 0 o\[1\] must hold chunk 1 of rank 1, but holds nothing"
    with pytest.raises(ScheduleError, match=expected), Algorithm(Kind.ALL_GATHER, 2, 2):
        pass


def test_out_of_place_the_input_stays() -> None:
    def write(algorithm: Algorithm) -> None:
        for index in range(3):
            total = algorithm.chunk(0, "input", index).copy(0, "output", index)
            for peer in (1, 2):
                total = total.reduce(algorithm.chunk(peer, "input", index))
            for peer in (1, 2):
                total.copy(peer, "output", index)
        algorithm.chunk(1, "input", 2).copy(0, "input", 2)

    refused(write, "rank 0 i[2] must hold chunk 2 of rank 0 (out of place the input stays", 7, in_place=False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("custom", 2, 2), "no collective 'custom'"),
        (("all_gather", 0, 2), "0 ranks, 2 chunks"),
        (("all_gather", 4, 6), "cannot be shared by 4 ranks"),
    ],
)
def test_collectives_that_are_none(arguments: tuple[str, int, int], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        Algorithm(*arguments)


@settings(max_examples=40)
@given(data=st.data())
def test_whatever_is_accepted_is_proved(data: st.DataObject) -> None:
    """Random copies and sums, in any order and to any index; then the result is completed from scratch sums."""
    ranks, slots = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 2))
    algorithm = Algorithm(Kind.ALL_REDUCE, ranks, 2, in_place=data.draw(st.booleans()))
    rank, index = st.integers(0, ranks - 1), st.integers(0, 1)
    for chunk in range(2):
        total = algorithm.chunk(0, "input", chunk).copy(data.draw(rank), "scratch", 10 + data.draw(index) * 5 + chunk)
        for peer in range(1, ranks):
            if data.draw(st.booleans()):
                total = total.copy(data.draw(rank), "scratch", 20 + 2 * peer + 40 * chunk)
            total = total.reduce(algorithm.chunk(peer, "input", chunk), channel=data.draw(st.integers(0, 2)))
        for _ in range(data.draw(st.integers(0, 3))):
            spare = algorithm.chunk(data.draw(rank), "input", data.draw(index))
            spare.copy(data.draw(rank), "scratch", data.draw(st.integers(0, 2)))
        algorithm.chunk(total.places[0][0], "scratch", total.places[0][2]).copy(0, "scratch", 90 + chunk)
    for chunk in range(2):
        for peer in range(ranks):
            algorithm.chunk(0, "scratch", 90 + chunk).copy(peer, "output", chunk)
    program = algorithm.lower("msccl", Lowering(slots=slots)).program
    execute(program, fifo_depth=8)


def many_sums(counts: list[int]) -> Algorithm:
    """Rank 0 adds chunks of rank 1's scratch, which hold what all others have, one message after the other."""
    ranks = len(counts) + 1
    with Algorithm(Kind.REDUCE, ranks, max(counts)) as algorithm:
        for peer in range(1, ranks):
            algorithm.chunk(peer, "input", 0, max(counts)).copy(1, "scratch", max(counts) * peer)
        whole = algorithm.chunk(1, "scratch", max(counts), max(counts) * (ranks - 1))
        whole.copy(0, "scratch", max(counts))
        for first in range(max(counts)):
            for peer, count in enumerate(counts, 1):
                if first % count == 0:
                    place = max(counts) * peer + first
                    own = algorithm.chunk(0, "input", first, count)
                    own.reduce(algorithm.chunk(0, "scratch", place, count))
    return algorithm


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("counts", [[1] * 40, [2, 1] * 4])
def test_any_number_of_sums_into_one_place(counts: list[int], profile: str, slots: int) -> None:
    """Runtimes make one reduction of neighbours with one destination, of up to 16 sources and the last one's count."""
    translation = many_sums(counts).lower(profile, Lowering(slots=slots, max_bytes=1 << 20))
    execute(translation.program, fifo_depth=8)


def broadcast_beside_copies(number: int, dependent: bool) -> Algorithm:
    """Rank 0 copies its chunk to many places of scratch: all from the input, or each from the place before."""
    with Algorithm(Kind.BROADCAST, 2, 1) as algorithm:
        chunk = algorithm.chunk(0, "input", 0)
        chunk.copy(1, "input", 0)
        for place in range(number):
            copied = chunk.copy(0, "scratch", place)
            chunk = copied if dependent else chunk
    return algorithm


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("number", [64, 65, 130])
def test_any_number_of_local_steps(number: int, profile: str, dependent: bool) -> None:
    """More than a thread block has are spread over as few as hold them, beside the one that sends."""
    translation = broadcast_beside_copies(number, dependent).lower(profile)
    blocks = translation.program.gpus[0].thread_blocks
    assert sum(step.type is StepType.COPY for block in blocks for step in block.steps) == number
    assert len(blocks) == 1 + -(-number // PROFILES[profile].max_steps)
    assert max(len(block.steps) for block in blocks) <= PROFILES[profile].max_steps
    assert translation.program.num_channels == 1


def test_local_steps_that_wait_need_more_thread_blocks() -> None:
    # each of 60 sums waits for the message that it adds and for one more: 120 steps in blocks of 64
    with Algorithm(Kind.BROADCAST, 4, 1) as algorithm:
        for peer in (1, 2, 3):
            algorithm.chunk(0, "input", 0).copy(peer, "input", 0)
        for place in range(60):
            algorithm.chunk(1, "input", 0).copy(0, "scratch", 2 * place)
            algorithm.chunk(2, "input", 0).copy(0, "scratch", 2 * place + 1)
        for place in range(60):
            algorithm.chunk(0, "scratch", 2 * place, 2).copy(0, "scratch", 200 + 2 * place)
    blocks = algorithm.lower("executor").program.gpus[0].thread_blocks
    own = [len(block.steps) for block in blocks if max(block.send, block.receive) < 0]
    assert sum(own) > 64 and max(own) <= 64


def test_more_local_steps_than_thread_blocks_hold_are_refused() -> None:
    # 64 blocks of 64 on rccl, one of which sends
    with pytest.raises(ScheduleError, match=r"elements|thread blocks, limit 64"):
        broadcast_beside_copies(64 * 64, False).lower("rccl")


def star(ranks: int) -> Algorithm:
    """Rank 0 hears from all others, adds, and tells them."""
    with Algorithm(Kind.ALL_REDUCE, ranks, 1, name="star") as algorithm:
        for peer in range(1, ranks):
            algorithm.chunk(0, "input", 0).reduce(algorithm.chunk(peer, "input", 0))
        for peer in range(1, ranks):
            algorithm.chunk(0, "input", 0).copy(peer, "input", 0)
    return algorithm


def test_thread_blocks_that_others_wait_for_have_numbers_that_runtimes_keep() -> None:
    # 2 * 59 thread blocks for each of two instances; those that receive are waited for, half
    # of them from 118 on
    program = star(60).lower("executor", Lowering(instances=2)).program
    assert len(program.gpus[0].thread_blocks) == 2 * 2 * 59
    assert program.rows["depend_block"].max() <= 127


def test_thread_blocks_are_shared_where_there_are_too_many() -> None:
    # 2 * 127 are more than the 216 of msccl; 127 that all are waited for have the numbers 0 to 126
    translation = star(128).lower("msccl")
    assert len(translation.program.gpus[0].thread_blocks) == 127
    assert translation.candidates[0].strategy.paired
    with pytest.raises(ScheduleError, match=r"254 thread blocks, limit 216.* or Lowering\(paired=True\)"):
        star(128).lower("msccl", Lowering(paired=False))
    # rank 0 waits for 138 peers before it tells the first: beyond what 8 bits can say, shared or not
    with pytest.raises(ScheduleError, match="278 thread blocks, limit 216") as caught:
        star(140).lower("msccl")
    assert "paired" not in str(caught.value)


@pytest.mark.parametrize("size_bytes", [1 << 10, 1 << 30])
def test_on_a_topology_the_quickest_way_is_taken(size_bytes: int) -> None:
    topology = load("ring:4,bandwidth=50GB/s,latency=500ns")
    translation = ring_all_reduce().lower("executor", topology=topology, size_bytes=size_bytes)
    # 1, 2 or 4 channels, 1 or 2 slots
    assert len(translation.candidates) == 3 * 2
    times = [each.time_ps for each in translation.candidates if each.program]
    assert times == sorted(times)
    assert times[0] == simulate_program(translation.program, topology, size_bytes).time_ps
    # the largest size that the program is for
    again = ring_all_reduce().lower("executor", Lowering(max_bytes=size_bytes), topology=topology)
    assert again.program.gpus == translation.program.gpus


def test_what_is_asked_for_must_fit_what_was_written() -> None:
    with pytest.raises(ScheduleError, match="by_hand was written for in-place calls, and is for no others"):
        ring_all_reduce().lower("executor", Lowering(in_place=False))
    with pytest.raises(ScheduleError, match=r"depends on the size: give size_bytes, or Lowering\(max_bytes=\)"):
        ring_all_reduce().lower("executor", topology=load("ring:4,bandwidth=50GB/s,latency=500ns"))
    assert ring_all_reduce().lower("executor", Lowering(name="mine")).program.name == "mine"


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("instances", [2, 4])
def test_instances_of_chunks_of_several_ranks(instances: int, in_place: bool) -> None:
    """Recursive doubling: the second exchange sends two ranks' chunks at once, which no instance has side by side."""
    with Algorithm(Kind.ALL_GATHER, 4, 8, in_place=in_place) as algorithm:
        if not in_place:
            for rank in range(4):
                algorithm.chunk(rank, "input", 0, 2).copy(rank, "output", 2 * rank)
        for rank in range(4):
            algorithm.chunk(rank, "output", 2 * rank, 2).copy(rank ^ 1, "output", 2 * rank)
        for rank in range(4):
            first = 4 * (rank // 2)
            algorithm.chunk(rank, "output", first, 4).copy(rank ^ 2, "output", first)
    program = algorithm.lower("executor", Lowering(instances=instances)).program
    assert program.chunks_per_loop == 8 * instances
    assert max(step.count for step in steps(program)) == 2
