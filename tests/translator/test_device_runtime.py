"""Programs for Hocket's own interpreter: what its costs choose, and a bundle of its own."""

from pathlib import Path

import pytest

from hocket.base.errors import ScheduleError
from hocket.schedule import DEVICE, Collective, Costs, Kind, Pace, Schedule, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, lower_best, priced_profile
from hocket.translator.bundle import read_bundle, write_bundle

TOPOLOGY = load("dgx-h100:gpus=2")


def schedule(size: int) -> Schedule:
    return build("ring", Collective(Kind.ALL_REDUCE, 2, size, 2), TOPOLOGY)


def test_packets_where_calls_are_small_and_more_thread_blocks_where_they_are_large() -> None:
    small, large = lower_best(schedule(1 << 10), "device"), lower_best(schedule(256 << 20), "device")
    assert small.program.protocol == "LL"
    assert large.program.protocol == "Simple"
    assert large.candidates[0].strategy.instances > 1
    assert large.candidates[0].thread_blocks <= 108


def test_what_is_asked_for_is_not_chosen() -> None:
    asked = Lowering(protocol="Simple", instances=2, channels=1)
    best = lower_best(schedule(1 << 10), "device", asked)
    assert {(each.strategy.protocol, each.strategy.instances) for each in best.candidates} == {("Simple", 2)}


def test_measured_costs_choose_in_place_of_known_ones() -> None:
    slow = Pace(1, 10**9, 10**9, 10**9)
    costs = Costs("device", {"LL": slow})
    assert lower_best(schedule(1 << 10), priced_profile("device", costs)).program.protocol == "Simple"
    with pytest.raises(ScheduleError, match="costs are those of mscclpp"):
        priced_profile("device", Costs("mscclpp", {"LL": slow}))


def test_a_bundle_has_windows_of_packets_and_of_plain_messages(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    save(schedule(16 << 20), path)
    folder = tmp_path / "bundle"
    write_bundle([path], folder, "device", Lowering(in_place=True))
    files = read_bundle(folder).files
    assert files[0].protocol == "LL" and files[-1].protocol == "Simple"
    plain = DEVICE["Simple"].pace
    assert plain is not None and files[0].predicted[0].time_ps < plain.start_ps + plain.inside_ps
    script = (folder / "run.sh").read_text()
    assert "HOCKET_ALGORITHMS_ENGINE=device" in script and "--transport device" in script
    assert "NCCL" not in script and all(file.path in (folder / "README.md").read_text() for file in files)
