"""Winners of what was measured, and the rules made of them."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.nccl import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.nccl.choice import NcclChoice
from hocket.nccl.tuning import Timing, TunerRule, find_winners, rules_of, write_rules
from hocket.nccl.tuning.check import check_table
from hocket.nccl.tuning.table import CommunicatorRules, read_tuner_table

LL, LL128, SIMPLE = (NcclChoice("Ring", protocol) for protocol in ("LL", "LL128", "Simple"))
CHOICES = (LL, LL128, SIMPLE)


def timed(size: int, time: int, choice: NcclChoice | None, *, own: bool = False, in_place: bool = False) -> Timing:
    return Timing("AllReduce", 16, 2, size, in_place, time, choice, own, f"made:{size}")


def at(rules: list[TunerRule], size: int) -> NcclChoice | None:
    """The first rule that holds."""
    return next(
        (rule.choice for rule in rules if rule.least <= size and (rule.most is None or size <= rule.most)), None
    )


@given(
    st.lists(st.tuples(*[st.integers(1000, 10**9)] * 4), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from([0, 10_000, 200_000]),
)
def test_each_size_gets_its_quickest_within_the_margin(rows: list[tuple[int, ...]], has_own: bool, margin: int) -> None:
    sizes = [8 << (2 * step) for step in range(len(rows))]
    made = [timed(size, row[number], choice) for size, row in zip(sizes, rows, strict=True)
            for number, choice in enumerate(CHOICES)]  # fmt: skip
    made += [timed(size, row[3], None, own=True) for size, row in zip(sizes, rows, strict=True) if has_own]
    (winners,) = find_winners(made, margin)
    rules = rules_of([winners])
    for size, row, taken in zip(sizes, rows, winners.time_ps, strict=True):
        times = dict(zip((*CHOICES, None), row, strict=False))
        best = min(row if has_own else row[:3])
        chosen = at(rules, size)
        assert times[chosen] == taken
        # Leaving a choice for one size and coming back costs two margins: more is never given away.
        assert (taken - best) * 10**6 // best <= 2 * margin
    for rule, after in pairwise(rules):
        assert rule.most is not None and rule.most < after.least
    assert at(rules, sizes[0] - 1) is None and at(rules, sizes[-1] + 1) is None


@settings(max_examples=50)
@given(data=st.data(), collective=st.sampled_from(["AllReduce", "AllGather"]), has_own=st.booleans())
def test_the_table_makes_the_plugin_take_the_quickest(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, collective: str, has_own: bool
) -> None:
    taken = st.lists(st.permutations(range(1, 5)), min_size=4, max_size=4)
    places: dict[int, list[list[int]]] = data.draw(
        st.dictionaries(st.sampled_from([1, 2, 4]), taken, min_size=1, max_size=3)
    )
    sizes = {nodes: [8 * nodes << (3 * step) for step in range(4)] for nodes in places}
    made = [
        Timing(collective, 8 * nodes, nodes, size, False, 1000 * time, choice, choice is None, "made")
        for nodes, rows in places.items()
        for size, row in zip(sizes[nodes], rows, strict=True)
        for choice, time in zip((*CHOICES, None), row, strict=True)
        if choice is not None or has_own
    ]
    path = tmp_path_factory.getbasetemp() / "table.csv"
    write_rules(rules_of(find_winners(made, 0), extrapolate=data.draw(st.booleans())), path, [])
    table = read_tuner_table(path)
    assert check_table(table) == []
    function, costs = COLLECTIVES.index(collective), np.full(21, -1, np.float32)
    costs[3:6] = 30, 20, 10  # us of Ring, which has all protocols
    for nodes, rows in places.items():
        rules = CommunicatorRules(table, nodes, 8 * nodes)
        for size, row in zip(sizes[nodes], rows, strict=True):
            index, algorithm, protocol, channels, passed = rules.choose(function, size, 1, 0, costs)
            quickest = (*CHOICES, None)[row.index(min(row if has_own else row[:3]))]
            own = index < 0 or table.rules[index].algorithm == -1
            assert (None if own else NcclChoice(ALGORITHMS[algorithm], PROTOCOLS[protocol])) == quickest
            assert channels == 0 and passed == []


def test_a_switch_must_pay() -> None:
    sizes = [8, 16, 32, 64, 128]
    # 4 % quicker at one size: not worth two switches of 3 %; 4 % at the last two: 8 % are worth one.
    times = {LL: [100, 100, 100, 104, 104], SIMPLE: [104, 96, 120, 100, 100]}
    made = [
        timed(size, time * 1000, choice) for choice, of in times.items() for size, time in zip(sizes, of, strict=True)
    ]
    (winners,) = find_winners(made, 30_000)
    assert winners.chosen == (LL, LL, LL, SIMPLE, SIMPLE)
    assert winners.other_ps == (104_000, 96_000, 120_000, 104_000, 104_000)
    # Between 32 and 64 at their geometric mean, sqrt(2048) = 45.25.
    assert rules_of([winners]) == [
        TunerRule("AllReduce", (2, 2), (16, 16), 8, 45, LL),
        TunerRule("AllReduce", (2, 2), (16, 16), 46, 128, SIMPLE),
    ]
    open_ended = rules_of([winners], extrapolate=True)
    assert (open_ended[0].least, open_ended[-1].most) == (0, None)
    assert find_winners(made, 0)[0].chosen == (LL, SIMPLE, LL, SIMPLE, SIMPLE)


def test_only_what_beats_nccl_s_own_choice_is_written() -> None:
    own = [timed(size, time, None, own=True) for size, time in ((8, 1000), (16, 1000), (32, 1000))]
    made = [timed(size, time, LL) for size, time in ((8, 990), (16, 1500), (32, 800), (64, 1))]
    (winners,) = find_winners([*own, *made], 30_000)
    assert winners.chosen == (None, None, LL)  # 1 % quicker at 8 B is within the margin; 64 B has no own time
    assert winners.unmatched == (64,) and winners.other_ps == (1000, 1000, 1000)
    assert rules_of([winners]) == [TunerRule("AllReduce", (2, 2), (16, 16), 23, 32, LL)]  # sqrt(16 x 32) = 22.6


def test_nccl_s_own_choice_between_two_rules_is_written(tmp_path: Path) -> None:
    own = [timed(size, 1000, None, own=True) for size in (8, 16, 32, 64, 128)]
    made = [
        timed(size, time, LL) for size, time in zip((8, 16, 32, 64, 128), (2000, 500, 1500, 500, 2000), strict=True)
    ]
    rules = rules_of(find_winners([*own, *made], 0))
    # At the ends nothing is said; between, sqrt(8 x 16) = 11.3, 22.6, 45.3, 90.5.
    assert [(rule.least, rule.most, rule.choice) for rule in rules] == [(12, 22, LL), (23, 45, None), (46, 90, LL)]
    write_rules(rules, tmp_path / "table.csv", ["why"])
    assert (tmp_path / "table.csv").read_text().splitlines() == [
        "# why",
        "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks",
        "allreduce,12,22,ring,ll,-1,2,16",
        "allreduce,23,45,-1,-1,-1,2,16",
        "allreduce,46,90,ring,ll,-1,2,16",
    ]


def test_the_same_choice_by_nccl_itself_and_forced_is_one() -> None:
    # NCCL ran LL by itself: that the forced run was quicker was noise, which the two runs show.
    own = [timed(8, 1000, LL, own=True), timed(16, 1000, LL, own=True)]
    made = [timed(8, 900, LL), timed(16, 900, LL), timed(8, 990, SIMPLE), timed(16, 990, SIMPLE)]
    (winners,) = find_winners([*own, *made], 10_000)
    assert winners.noise_ppm == 52_631  # 100 / 2 of 950
    assert winners.margin_ppm == 3 * 52_631 and winners.chosen == (None, None) and rules_of([winners]) == []


def test_a_rule_ends_where_nccl_chooses_the_same() -> None:
    # NCCL takes Simple from 32 B on; at 16 B it should have: the rule is for that alone, and going on costs nothing.
    own = [timed(size, time, choice, own=True) for size, time, choice in
           ((8, 100, LL), (16, 200, LL), (32, 100, SIMPLE), (64, 100, SIMPLE))]  # fmt: skip
    made = [timed(size, time, SIMPLE) for size, time in ((8, 300), (16, 100), (32, 100), (64, 100))]
    (winners,) = find_winners([*own, *made], 600_000)
    # 100 % more at 16 B pay for one switch of 60 %, to Simple; not for two.
    assert winners.chosen == (None, SIMPLE, None, None)


def test_places_count_as_far_as_all_have_them() -> None:
    made = [timed(8, 100, LL), timed(8, 200, SIMPLE), timed(8, 10, SIMPLE, in_place=True)]
    (winners,) = find_winners(made, 0)
    assert winners.chosen == (LL,) and winners.time_ps == (100,)
    with pytest.raises(FormatError, match="made:8: AllReduce of 8 B was measured only in place"):
        find_winners([made[0], made[2]], 0)


def test_one_choice_alone_is_no_choice() -> None:
    with pytest.raises(FormatError, match=r"with Ring/LL alone: nothing to choose from"):
        find_winners([timed(8, 100, LL)], 0)


def curve(collective: str, nodes: int, switch: int) -> list[Timing]:
    """1 to 64 KiB a rank: LL is quicker below `switch`, of a rank's block."""
    made = []
    for power in range(10, 17):
        for choice in (LL, SIMPLE):
            time = 100 if (choice == LL) == (1 << power < switch) else 200
            size = (1 << power) * 8 * nodes
            made.append(Timing(collective, 8 * nodes, nodes, size, False, time, choice, False, "made"))
    return made


def test_blocks_that_are_alike_on_several_nodes_are_one_rule() -> None:
    found = find_winners([*curve("AllGather", 1, 4096), *curve("AllGather", 2, 8192), *curve("AllGather", 4, 8192)], 0)
    # Between 2 and 4 KiB at sqrt(2) x 2048 = 2896.3, between 4 and 8 at 5792.6.
    assert rules_of(found) == [
        TunerRule("AllGather", (1, 1), (8, 8), 1024, 2896, LL, per_rank=True),
        TunerRule("AllGather", (1, 1), (8, 8), 2897, 65536, SIMPLE, per_rank=True),
        TunerRule("AllGather", (2, 4), (16, 32), 1024, 5792, LL, per_rank=True),
        TunerRule("AllGather", (2, 4), (16, 32), 5793, 65536, SIMPLE, per_rank=True),
    ]
    found = find_winners([*curve("AllReduce", 2, 8192), *curve("AllReduce", 4, 8192)], 0)
    assert [rule.nodes for rule in rules_of(found)] == [(2, 2), (2, 2), (4, 4), (4, 4)]  # other sizes on each


def test_gains_below_the_noise_of_a_fit_are_no_rule() -> None:
    """Nor are many small ones together: errors of a fit are alike at near sizes."""
    sizes = [1 << power for power in range(10, 20)]
    own = [Timing("AllReduce", 16, 2, size, False, 1000, LL, True, "fit") for size in sizes]
    other = [Timing("AllReduce", 16, 2, size, False, 900, SIMPLE, False, "fit") for size in sizes]
    (free,) = find_winners([*own, *other], 30_000)
    assert free.chosen == (SIMPLE,) * 10
    (noisy,) = find_winners([*own, *other], 30_000, {("AllReduce", 2, 16): 40_000})
    assert noisy.chosen == (None,) * 10 and (noisy.noise_ppm, noisy.margin_ppm) == (40_000, 120_000)
    (quiet,) = find_winners([*own, *other], 30_000, {("AllReduce", 2, 16): 30_000})
    assert quiet.chosen == (SIMPLE,) * 10


def test_a_rule_ends_where_its_gain_is_below_the_noise() -> None:
    """A switch costs a margin, so that the quickest way through goes over sizes that gain nothing: not a rule there."""
    sizes = [1 << power for power in range(10, 20)]
    took = [1000, 999, 800, 800, 990, 800, 800, 1000, 980, 1000]
    own = [Timing("AllReduce", 16, 2, size, False, 1000, LL, True, "fit") for size in sizes]
    other = [
        Timing("AllReduce", 16, 2, *row, SIMPLE, False, "fit") for row in zip(sizes, [False] * 10, took, strict=True)
    ]
    (winners,) = find_winners([*own, *other], 30_000, {("AllReduce", 2, 16): 30_000})
    assert winners.chosen == (None, None, SIMPLE, SIMPLE, None, SIMPLE, SIMPLE, None, None, None)
