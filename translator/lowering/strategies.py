"""Ways to lower: all are simulated, and the quickest that can be proved is taken."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Program, Schedule
from hocket.simulator import simulate_program
from hocket.topology import Topology
from hocket.translator.lowering.coarser import mergeable
from hocket.translator.lowering.fitting import with_remedy
from hocket.translator.lowering.lowering import Candidate, Lowering, Strategy
from hocket.translator.lowering.proving import Translated, prove
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.xml_write import LimitError, to_xml_noted

__all__ = ["fewer_chunks", "in_steps", "predictor", "quickest", "rounds"]


def rounds(plain: list[Strategy], lowering: Lowering, schedule: Schedule | None = None) -> Iterator[list[Strategy]]:
    """The strategies to try, and what else, one after the other, where none of them fits a runtime: coarser chunks of
    the schedule (too many steps), connections that share thread blocks (too many of these), both. Schedules whose ranks
    send all that they have, mostly a few bytes, are tried in steps too: with one message for all chunks."""
    yield [*plain, *in_steps(plain, schedule)]
    coarser = [] if schedule is None else mergeable(schedule)
    for factor in coarser:
        yield [replace(each, merged=factor) for each in plain]
    if lowering.paired is None:
        for factor in (1, *coarser):
            yield [replace(each, merged=factor, paired=True) for each in plain]


def in_steps(plain: list[Strategy], schedule: Schedule | None) -> list[Strategy]:
    """The same in steps, of schedules whose ranks send all that they have."""
    return [replace(each, levelled=True) for each in plain] if schedule is not None and schedule.is_own.any() else []


def predictor(
    profile: Profile, topology: Topology, size_bytes: int, placement: Sequence[int] | None = None
) -> Callable[[Program], int]:
    """What a program takes at a size, rounded up to its chunks, in ps; `placement`: the topology's rank of each."""

    def predict(program: Program) -> int:
        loop = program.chunks_per_loop
        size = -(-max(size_bytes, 1) // loop) * loop
        return simulate_program(program, topology, size, protocols=profile.protocols, placement=placement).time_ps

    return predict


def quickest(
    profile: Profile,
    tried: Iterable[list[Strategy]],
    lower: Callable[[Strategy], Program],
    predict: Callable[[Program], int],
    at_least: Callable[[Strategy], int] = lambda _: 0,
) -> Translated:
    """The quickest that can be proved of the first round of strategies of which some fits the runtime and can. Those
    that take more than another `at_least` (in ps) are not tried. Raises why not where there is none: what is wrong with
    a program that fits, else why the plainest does not fit."""
    refused: list[Candidate] = []
    for strategies in tried:
        for hopeless in (at_least, lambda _: 0):  # where what is quickest cannot be proved, what is slower
            candidates = _candidates(strategies, profile, lower, predict, hopeless)
            refused_now: list[Candidate] = []
            for at, candidate in enumerate(candidates):
                if candidate.program is not None:
                    try:
                        translation = prove(candidate.program, profile, candidate.strategy.slots, candidate.xml)
                    except (ScheduleError, DeadlockError) as error:
                        refused_now.append(replace(candidate, error=error))
                    else:
                        others = (*refused, *refused_now, *candidates[at + 1 :])
                        return replace(translation, candidates=(candidate, *others))
                elif candidate.error is not None:
                    refused_now.append(candidate)
            if all(each.program or each.error for each in candidates):
                break
        refused += refused_now
        if not any(each.program or isinstance(each.error, LimitError) for each in candidates):
            break
    raise _reason(refused)


def _candidates(
    tried: Sequence[Strategy],
    profile: Profile,
    lower: Callable[[Strategy], Program],
    predict: Callable[[Program], int],
    at_least: Callable[[Strategy], int],
) -> list[Candidate]:
    """What the strategies come to, the best first: the quickest by prediction, then those of fewer thread blocks (each
    takes a multiprocessor from the computation), then of fewer steps; those that were not tried, and refused ones
    last."""
    found: list[Candidate] = []
    best: int | None = None
    for least_ps, strategy in sorted(((at_least(each), each) for each in tried), key=lambda pair: pair[0]):
        if best is not None and least_ps > best:
            found.append(Candidate(strategy, time_ps=least_ps))
            continue
        candidate = _candidate(strategy, profile, lower, predict)
        found.append(candidate)
        if candidate.program is not None:
            best = candidate.time_ps if best is None else min(best, candidate.time_ps)
    return sorted(
        found,
        key=lambda each: (each.program is None, each.error is not None, each.time_ps, each.thread_blocks, each.steps),
    )


def _candidate(
    strategy: Strategy, profile: Profile, lower: Callable[[Strategy], Program], predict: Callable[[Program], int]
) -> Candidate:
    try:
        program = lower(strategy)
        xml = to_xml_noted(program, profile) if profile.reads_xml else None
    except ScheduleError as error:
        return Candidate(strategy, error=error)
    return Candidate(strategy, program, xml, predict(program))


def _reason(refused: list[Candidate]) -> ScheduleError | DeadlockError:
    errors = sorted(refused, key=lambda each: each.program is None)
    error = errors[0].error
    assert error is not None  # each has one
    if isinstance(error, LimitError) and not any(each.strategy.paired for each in refused):
        return with_remedy(error)
    return error


def fewer_chunks(schedule: Schedule, profile: Profile) -> int | None:
    """As many chunks a rank as give a rank's file no more elements than the runtime takes, if each end of a message is
    a step, in as many thread blocks as it takes; None where the schedule's fit or none do."""
    src, dst = schedule.src, schedule.dst
    ranks = schedule.collective.num_ranks
    steps = int((np.bincount(src, minlength=ranks) + np.bincount(dst, minlength=ranks)).max())
    pairs = np.unique(np.stack([src, dst]), axis=1)
    connections = int(np.bincount(pairs.ravel(), minlength=1).max())
    blocks = max(connections, profile.max_nodes // profile.max_steps)
    room = profile.max_nodes - 1 - schedule.collective.num_ranks - blocks
    fitting = schedule.collective.chunks_per_rank * room // max(steps, 1)
    return fitting if 0 < fitting < schedule.collective.chunks_per_rank else None
