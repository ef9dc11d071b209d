"""Public tables carried over to other machines: what ships is what they tell, and what is said of it holds."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.calibration.transfer import Observed, Prior, PublicTable, public_tables, read_prior, train
from hocket.calibration.transfer.effects import Effects
from hocket.calibration.transfer.features import INSIDE, CurvePlace, features_of, place_of
from hocket.calibration.transfer.fitting import fit_curves
from hocket.calibration.transfer.prior import KIN, MEASURED, PARTS, STRANGE, prior_json
from hocket.calibration.transfer.training import ANCHORS, anchored
from hocket.nccl import NcclModel
from hocket.topology.machines.hosts import hosts_of

SIZES = np.array([1 << power for power in range(3, 34)], np.int64)


@lru_cache(maxsize=1)
def curves() -> tuple[Observed, ...]:
    return tuple(curve for table in public_tables() if not table.left_out for curve in table.observed())


def of(machine: str) -> list[Observed]:
    return [curve for curve in curves() if curve.features.place.machine == machine]


def model(spec: str) -> NcclModel:
    hosts = hosts_of(spec)
    return NcclModel(hosts.machine, hosts.nodes, domain=hosts.domain)


def test_the_prior_that_ships_is_what_its_tables_tell() -> None:
    trained, shipped = train(curves()), read_prior()
    assert shipped.known == trained.known
    assert shipped.effects.names == trained.effects.names
    assert np.allclose(shipped.effects.mean, trained.effects.mean, atol=1e-4)
    assert np.allclose(shipped.effects.covariance, trained.effects.covariance, atol=1e-4)
    for situation in (KIN, PARTS, MEASURED):
        for ours, own in zip(shipped.trust[situation], trained.trust[situation], strict=True):
            assert ours.weight == own.weight
            assert ours.stretch == pytest.approx(own.stretch, rel=1e-3)


def test_training_is_the_same_every_time() -> None:
    some = [curve for curve in curves() if curve.features.place.generation == "Hopper"]
    assert prior_json(train(some), []) == prior_json(train(some), [])


def test_every_table_says_where_it_is_from_and_what_is_left_out_why() -> None:
    tables = public_tables()
    assert len({table.name for table in tables}) == len(tables) >= 19
    assert all(len(table.source) > 20 for table in tables)
    assert [table.name for table in tables if table.left_out] == ["b200-a4-high", "h100-ringforced"]


@pytest.mark.parametrize(
    "name", ["a3-mega", "a3-ultra", "a4", "dgx-a100", "dgx-b200", "dgx-h100", "ndv4", "p4de", "p5"]
)
def test_nodes_by_their_own_names_reach_the_tables_of_them(name: str) -> None:
    place = place_of("x", model(f"{name}:nodes=2"), "all_reduce")
    assert read_prior().situation(place) == KIN
    assert any(table.machine == name for table in public_tables()) and place.fabric != "another network"


def test_generation_and_fabric_are_told_from_the_machine() -> None:
    specs = ("dgx-h100", "p5:nodes=2", "ndv4:nodes=2", "a3-mega:nodes=2")
    found = {spec: place_of("x", model(spec), "all_reduce") for spec in specs}
    assert found["dgx-h100"].known_by == ("Hopper", INSIDE)
    assert found["p5:nodes=2"].known_by == ("Hopper", "EFA")
    assert found["ndv4:nodes=2"].known_by == ("Ampere", "InfiniBand or RoCE")
    assert found["a3-mega:nodes=2"].known_by == ("Hopper", "TCPXO")


def test_where_nothing_alike_was_measured_it_is_nccls_own_time() -> None:
    prior = read_prior()
    machine = model("dgx-h100:nodes=2")
    features = features_of(CurvePlace("x", "Rubin", "InfiniBand or RoCE", "all_reduce", 2, True), machine, SIZES)
    assert prior.situation(features.place) == STRANGE
    predicted = prior.predict(features)
    assert np.allclose(predicted.time_us, features.expected_us)
    low, high = predicted.within
    assert (high / low > 2).all()


def test_two_rows_of_a_machine_bring_its_curve_nearer() -> None:
    """Also of machines that the prior has seen, in the mean over all."""
    without, beside = [], []
    for machine in dict.fromkeys(curve.features.place.machine for curve in curves()):
        others = fit_curves([curve for curve in curves() if curve.features.place.machine != machine], Effects.none())
        prior = Prior(others.effects.of_all_machines(), read_prior().known, {}, (1.0, 1.0))
        pairs = anchored(of(machine))
        fit = prior.adapted([known for known, _ in pairs]) if pairs else None
        for _, rest in pairs:
            without.append(np.abs(prior.predict(rest.features).log_us - np.log(rest.time_us)).mean())
            beside.append(np.abs(prior.predict(rest.features, fit).log_us - np.log(rest.time_us)).mean())
    assert len(beside) > 15
    assert np.mean(beside) < 0.8 * np.mean(without)


@settings(deadline=None, max_examples=25)
@given(st.sampled_from([4, 8, 16, 64]), st.floats(0.5, 3.0), st.sampled_from(["all_reduce", "all_gather"]))
def test_a_measured_row_is_met_and_its_interval_is_narrower(nodes: int, factor: float, kind: str) -> None:
    prior = read_prior()
    machine = model(f"dgx-h100:nodes={nodes}")
    place = place_of("mine", machine, kind)
    features = features_of(place, machine, SIZES)
    before = prior.predict(features)
    rows = np.isin(SIZES, ANCHORS)
    after = prior.predict(features, prior.adapted([Observed(features.at(rows), factor * before.time_us[rows])]))
    assert (after.spread[rows] < before.spread[rows]).all()
    off = np.abs(np.log(after.time_us[rows] / (factor * before.time_us[rows])))
    assert (off < 0.1 + 0.1 * abs(np.log(factor))).all()


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 30), st.floats(2.0, 20.0))
def test_a_disturbed_row_is_named_not_fitted(at: int, slower: float) -> None:
    curve = of("h100-nebius")[0]
    times = curve.time_us.copy()
    times[at] *= slower
    fit = read_prior().adapted([Observed(curve.features, times)])
    assert fit.curves[0].disturbed[at]


def test_node_counts_that_were_not_measured_follow_those_that_were() -> None:
    """A machine twice as slow on two nodes is told to be slower on 64, without a table of one."""
    prior = read_prior()
    two, many = model("dgx-h100:nodes=2"), model("dgx-h100:nodes=64")
    features = features_of(place_of("mine", two, "all_reduce"), two, SIZES)
    asked = features_of(place_of("mine", many, "all_reduce"), many, SIZES)
    fits = [prior.adapted([Observed(features, by * prior.predict(features).time_us)]) for by in (1.0, 2.0)]
    as_usual, slow = (prior.predict(asked, fit).time_us for fit in fits)
    assert (slow > 1.2 * as_usual).all()


def test_a_table_is_read_as_its_source_printed_it() -> None:
    table: PublicTable = next(each for each in public_tables() if each.name == "h200-bluefield")
    (curve,) = table.curves()
    assert (curve.ranks, curve.nodes, len(curve.sizes)) == (16, 2, 25)
    assert curve.time_us[curve.size_bytes == 1 << 30].tolist() == [4388.55, 4385.35]
