"""The quickest of NCCL's choices by what was measured, size by size, without following noise.

A switch from one choice to another is taken where it pays: over the sizes of a curve the sum of what is lost against
the quickest of each size, and a margin for every switch, is least (found by dynamic programming over the sizes, in
integers). So one size must gain more than two margins to be taken alone, and several that gain a little each count
together. NCCL's own choice, where it was measured, is one of the choices and the first: leaving it is a switch, unless
it is for what NCCL is known to choose there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from hocket.base.errors import FormatError
from hocket.nccl.choice import NcclChoice

__all__ = ["Timing", "Winners", "find_winners"]

_PPM = 10**6


@dataclass(frozen=True, slots=True)
class Timing:
    """A collective (of COLLECTIVES) of `size_bytes`, as NCCL's model counts it, took `time_ps` with `choice`; `own`
    where NCCL was free to choose, when `choice` is None if it was not told. `place` is the file and line."""

    collective: str
    ranks: int
    nodes: int
    size_bytes: int
    in_place: bool
    time_ps: int
    choice: NcclChoice | None
    own: bool
    place: str


@dataclass(frozen=True)
class Winners:
    """Of one collective on so many ranks and nodes: by ascending size what to choose, None for NCCL's own choice.

    `time_ps` is what that took, `other_ps` what NCCL's own choice did where `has_own`, else the next best (None where
    nothing else was measured). `noise_ppm` is the median standard error of what was measured more than once, or of what
    was fitted (0: nothing was), `margin_ppm` what a switch had to gain. `unmatched` sizes were left out: NCCL's own
    choice was not measured.
    """

    collective: str
    ranks: int
    nodes: int
    sizes: tuple[int, ...]
    chosen: tuple[NcclChoice | None, ...]
    time_ps: tuple[int, ...]
    other_ps: tuple[int | None, ...]
    has_own: bool
    choices: tuple[NcclChoice, ...]
    noise_ppm: int
    margin_ppm: int
    unmatched: tuple[int, ...]

    @property
    def name(self) -> str:
        """`AllReduce on 16 ranks of 2 nodes`, for people."""
        return f"{self.collective} on {self.ranks} ranks of {self.nodes} node{'s' * (self.nodes > 1)}"


def find_winners(
    timed: Iterable[Timing], margin_ppm: int, noise_ppm: Mapping[tuple[str, int, int], int] | None = None
) -> list[Winners]:
    """By collective, nodes and ranks. A switch must gain `margin_ppm`, or three times the noise where that is more: two
    standard errors of a difference. `noise_ppm` is that of times which were fitted.

    In and out of place count alike, each by the median of its repetitions, and only as far as all choices were measured
    so. Raises FormatError where only one choice was measured, or one only in place and another only out of place.
    """
    groups: dict[tuple[str, int, int], list[Timing]] = defaultdict(list)
    for each in timed:
        groups[each.collective, each.nodes, each.ranks].append(each)
    fitted = noise_ppm or {}
    return [_winners(group, margin_ppm, fitted.get(key, 0)) for key, group in sorted(groups.items())]


_Times = dict[NcclChoice | None, dict[bool, list[int]]]  # of one size: by choice (None: own) and place


def _winners(group: list[Timing], margin_ppm: int, fitted_ppm: int) -> Winners:
    table = _by_size(group)
    choices = sorted({choice for times in table.values() for choice in times if choice is not None})
    has_own = any(None in times for times in table.values())
    if len(choices) + has_own < 2:
        only = choices[0].name if choices else "NCCL's own choice"
        raise FormatError(
            f"{group[0].place}: {group[0].collective} on {group[0].ranks} ranks of {group[0].nodes} nodes was measured"
            f" with {only} alone: nothing to choose from; measure it with other algorithms and protocols too"
        )
    sizes = [size for size in sorted(table) if not has_own or None in table[size]]
    states: list[NcclChoice | None] = [None, *choices] if has_own else list(choices)
    times = [_compared(table[size], group[0], size) for size in sizes]
    errors = sorted(
        # The range of a few values / their number is near their mean's standard error.
        (max(runs) - min(runs)) * _PPM // (len(runs) * _median(runs))
        for size in table.values()
        for places in size.values()
        for runs in places.values()
        if len(runs) > 1
    )
    noise = max(errors[len(errors) // 2] if errors else 0, fitted_ppm)
    margin = max(margin_ppm, 3 * noise)
    told = {each.size_bytes: each.choice for each in group if each.own}
    chosen = _quickest(times, states, [told.get(size) for size in sizes], margin)
    if fitted_ppm and has_own:
        chosen = _above_margin(times, chosen, margin)
    if noise and has_own:
        chosen = _above_noise(times, chosen, noise)
    return Winners(
        group[0].collective,
        group[0].ranks,
        group[0].nodes,
        tuple(sizes),
        tuple(chosen),
        tuple(of[choice] for of, choice in zip(times, chosen, strict=True)),
        tuple(_other(of, choice, has_own) for of, choice in zip(times, chosen, strict=True)),
        has_own,
        tuple(choices),
        noise,
        margin,
        tuple(size for size in sorted(table) if size not in sizes),
    )


def _by_size(group: list[Timing]) -> dict[int, _Times]:
    """The times of each size; where NCCL's own choice is known, both it and the same one forced have the times of
    both, as they are one."""
    told = {(each.size_bytes, each.choice) for each in group if each.own and each.choice is not None}
    table: dict[int, _Times] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for each in group:
        same = (each.size_bytes, each.choice) in told
        if each.own or same:
            table[each.size_bytes][None][each.in_place].append(each.time_ps)
        if each.choice is not None and (not each.own or same):
            table[each.size_bytes][each.choice][each.in_place].append(each.time_ps)
    return table


def _compared(times: _Times, first: Timing, size: int) -> dict[NcclChoice | None, int]:
    """One time for each choice, by the places in which all were measured."""
    places = [place for place in (False, True) if all(place in of for of in times.values())]
    if not places:
        raise FormatError(
            f"{first.place}: {first.collective} of {size} B was measured only in place with one choice and only out of"
            " place with another: measure both alike"
        )
    return {choice: sum(_median(of[place]) for place in places) // len(places) for choice, of in times.items()}


def _median(values: list[int]) -> int:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def _quickest(
    times: list[dict[NcclChoice | None, int]],
    states: list[NcclChoice | None],
    told: list[NcclChoice | None],
    margin: int,
) -> list[NcclChoice | None]:
    """The way through the sizes that loses least; of equals NCCL's own choice, and fewer switches.

    `told` is what NCCL's own choice is at each size, where that is known: between the two nothing switches.
    """

    def runs(state: NcclChoice | None, at: int) -> NcclChoice | None:
        return told[at] if state is None else state

    never = 1 << 62
    cost = [0 if states[0] is not None or runs(state, 0) == runs(None, 0) else margin for state in states]
    came: list[list[int]] = []
    for at, of in enumerate(times):
        best = min(of.values())
        before, reached = [], []
        for number, state in enumerate(states):
            reaching = [
                cost[source] + margin * (source != number and runs(left, at - 1) != runs(state, at))
                for source, left in enumerate(states)
            ]
            source = number if at == 0 or reaching[number] == min(reaching) else reaching.index(min(reaching))
            before.append(source)
            reached.append(min(never, reaching[source] + ((of[state] - best) * _PPM // best if state in of else never)))
        cost = reached
        came.append(before)
    number = cost.index(min(cost))
    path = []
    for before in reversed(came):
        path.append(states[number])
        number = before[number]
    return path[::-1]


def _above_margin(
    times: list[dict[NcclChoice | None, int]], chosen: list[NcclChoice | None], margin: int
) -> list[NcclChoice | None]:
    """NCCL's own choice where no size of a run gains the margin: errors of a fit are alike at near sizes, so that small
    gains of many are no more than one."""
    kept: list[NcclChoice | None] = []
    for choice, grouped in groupby(range(len(times)), key=chosen.__getitem__):
        run = list(grouped)
        gain = max(_gain_ppm(times[at], choice) for at in run)
        kept += [choice if gain >= margin else None] * len(run)
    return kept


def _above_noise(
    times: list[dict[NcclChoice | None, int]], chosen: list[NcclChoice | None], noise: int
) -> list[NcclChoice | None]:
    """NCCL's own choice at each size that gains no more than the noise: no rule is for what may be nothing."""
    return [choice if _gain_ppm(of, choice) > noise else None for of, choice in zip(times, chosen, strict=True)]


def _gain_ppm(of: dict[NcclChoice | None, int], choice: NcclChoice | None) -> int:
    """How much less time than by NCCL's own choice."""
    return (of[None] - of[choice]) * _PPM // of[None]


def _other(of: dict[NcclChoice | None, int], chosen: NcclChoice | None, has_own: bool) -> int | None:
    if has_own:
        return of[None]
    return min((time for choice, time in of.items() if choice != chosen), default=None)
