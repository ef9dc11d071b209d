"""Ways to lower: the quickest by simulation that can be proved is taken."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Program, Schedule
from hocket.topology import Topology
from hocket.translator.lowering.coarser import mergeable
from hocket.translator.lowering.fitting import with_remedy
from hocket.translator.lowering.lowering import Candidate, Lowering, Strategy
from hocket.translator.lowering.prices import Predictor
from hocket.translator.lowering.proving import Translated, prove
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.xml_write import LimitError, to_xml_noted

__all__ = ["fewer_chunks", "predictor", "quickest", "rounds"]


def rounds(plain: list[Strategy], lowering: Lowering, schedule: Schedule | None = None) -> Iterator[list[Strategy]]:
    """The strategies to try, and what else, one after the other, where none of them fits a runtime: coarser chunks of
    the schedule (too many steps), connections that share thread blocks (too many of these), both."""
    yield plain
    coarser = [] if schedule is None else mergeable(schedule)
    for factor in coarser:
        yield [replace(each, merged=factor) for each in plain]
    if lowering.paired is None:
        for factor in (1, *coarser):
            yield [replace(each, merged=factor, paired=True) for each in plain]


def predictor(
    profile: Profile, topology: Topology, size_bytes: int, placement: Sequence[int] | None = None
) -> Predictor:
    """What programs take at a size, rounded up to their chunks; `placement`: the topology's rank of each."""
    return Predictor(profile, topology, size_bytes, tuple(placement) if placement is not None else None)


def quickest(
    profile: Profile,
    tried: Iterable[list[Strategy]],
    lower: Callable[[Strategy], Program],
    predict: Callable[[Program], int],
    least_ps: Callable[[Program], int] = lambda _: 0,
) -> Translated:
    """The quickest that can be proved of the first round of strategies of which some fits the runtime and can: by
    prediction, then of fewer thread blocks (each takes a multiprocessor from the computation), then of fewer steps.
    Raises why not where there is none: what is wrong with a program that fits, else why the plainest does not fit.

    `predict`: what a program takes; `least_ps`: what it takes at least, by far less work. A program is simulated,
    written and checked when no other can be quicker by its bound, and proved when it is the quickest: most never are.
    """
    refused: list[Candidate] = []
    for strategies in tried:
        found = [_bounded(strategy, lower, least_ps) for strategy in strategies]
        unfit = {number: each for number, each in enumerate(found) if each.error is not None}
        waiting = [(_rank(each), number, each) for number, each in enumerate(found) if each.error is None]
        heapq.heapify(waiting)
        while waiting:
            _, number, candidate = heapq.heappop(waiting)
            if not candidate.priced:
                candidate = _priced(candidate, profile, predict)
                if candidate.error is None:
                    heapq.heappush(waiting, (_rank(candidate), number, candidate))
                else:
                    unfit[number] = candidate
                continue
            assert candidate.program is not None  # it was priced
            try:
                translation = prove(candidate.program, profile, candidate.strategy.slots, candidate.xml)
            except (ScheduleError, DeadlockError) as error:
                refused.append(replace(candidate, error=error))
            else:
                others = [each for *_, each in sorted(waiting)] + _in_order(unfit)
                return replace(translation, candidates=(candidate, *refused, *others))
        refused += _in_order(unfit)
        fits = len(unfit) < len(strategies)
        if not fits and not any(isinstance(each.error, LimitError) for each in unfit.values()):
            break
    raise _reason(refused)


def _in_order(candidates: dict[int, Candidate]) -> list[Candidate]:
    return [candidates[number] for number in sorted(candidates)]


def _rank(candidate: Candidate) -> tuple[int, int, int]:
    """The least is the best; nothing that is known later makes it less."""
    return candidate.time_ps, candidate.thread_blocks, candidate.steps


def _bounded(
    strategy: Strategy,
    lower: Callable[[Strategy], Program],
    least_ps: Callable[[Program], int],
) -> Candidate:
    try:
        program = lower(strategy)
    except ScheduleError as error:
        return Candidate(strategy, error=error)
    return Candidate(strategy, program, time_ps=least_ps(program), priced=False)


def _priced(candidate: Candidate, profile: Profile, predict: Callable[[Program], int]) -> Candidate:
    """It with its time, if it fits the runtime."""
    program = candidate.program
    assert program is not None  # it was lowered
    try:
        xml = to_xml_noted(program, profile) if profile.reads_xml else None
    except ScheduleError as error:
        return Candidate(candidate.strategy, error=error)
    return replace(candidate, xml=xml, time_ps=predict(program), priced=True)


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
    steps = int((np.bincount(src, minlength=1) + np.bincount(dst, minlength=1)).max())
    pairs = np.unique(np.stack([src, dst]), axis=1)
    connections = int(np.bincount(pairs.ravel(), minlength=1).max())
    blocks = max(connections, profile.max_nodes // profile.max_steps)
    room = profile.max_nodes - 1 - schedule.collective.num_ranks - blocks
    fitting = schedule.collective.chunks_per_rank * room // max(steps, 1)
    return fitting if 0 < fitting < schedule.collective.chunks_per_rank else None
