"""The model beside NCCL's own runs (tests/data/nccl_runs/README.md)."""

import csv
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import pytest

from hocket.bench.nccl_itself import collnet_topology
from hocket.nccl import NcclModel, read_settings
from hocket.nccl.launches import launched_channels
from hocket.nccl.releases import release_of
from hocket.nccl.symmetric import symmetric_calls
from hocket.topology.machines.hosts import hosts_of

RUNS = Path(__file__).parents[1] / "data" / "nccl_runs"
Key = tuple[str, str, int]


def read(name: str) -> list[dict[str, str]]:
    with open(RUNS / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def runs_of(name: str) -> dict[Key, list[dict[str, str]]]:
    """The rows of each run."""
    rows = groupby(read(name), key=lambda row: (row["release"], row["machine"], int(row["nodes"])))
    return {key: list(of_run) for key, of_run in rows}


@lru_cache
def model_of(release: str, machine: str, nodes: int, *assignments: str) -> NcclModel:
    hosts = hosts_of(machine, nodes)
    return NcclModel(hosts.machine, hosts.nodes, read_settings(assignments, release_of(release)), domain=hosts.domain)


def sizes_of(row: dict[str, str]) -> Iterator[int]:
    """Each about twice the one before: whole elements of every rank."""
    size, most = int(row["least"]), int(row["most"])
    while size < most:
        yield size
        size *= 2
    yield most


CHOICES, COLLNET, LAUNCHES = runs_of("choices.csv"), runs_of("collnet.csv"), runs_of("launches.csv")


def test_recordings_are_of_every_release() -> None:
    assert {release for release, _, _ in CHOICES} == {"2.27.7", "2.28.9", "2.29.7", "2.30.7", "2.31.0a7"}


@pytest.mark.parametrize("key", CHOICES, ids=lambda key: "-".join(map(str, key)))
def test_choices_and_times_are_nccls_own(key: Key) -> None:
    is_as_recorded(model_of(*key), CHOICES[key])


def is_as_recorded(model: NcclModel, rows: list[dict[str, str]]) -> None:
    for row in rows:
        sizes = [*sizes_of(row)]
        choices = model.choose(row["collective"], sizes)
        assert {choices.name(at) for at in range(len(sizes))} == {f"{row['algorithm']}/{row['protocol']}"}, row
        expected = [float(row["least_us"]), float(row["most_us"])]
        assert [float(choices.time_us[0]), float(choices.time_us[-1])] == pytest.approx(expected, rel=1e-6), row


@pytest.mark.parametrize("key", COLLNET, ids=lambda key: "-".join(map(str, key)))
def test_choices_with_switches_that_reduce_are_nccls_own(key: Key, tmp_path: Path) -> None:
    release, machine, nodes = key
    topology = tmp_path / "topology.xml"
    topology.write_text(collnet_topology(machine), encoding="utf-8")
    model = model_of(release, str(topology), nodes, "NCCL_COLLNET_ENABLE=1")
    is_as_recorded(model, COLLNET[key])
    assert any(row["algorithm"] == "CollNetDirect" for row in COLLNET[key])


@pytest.mark.parametrize("key", LAUNCHES, ids=lambda key: "-".join(map(str, key)))
def test_launched_channels_are_nccls_own(key: Key) -> None:
    model = model_of(*key)
    for row in LAUNCHES[key]:
        choices = model.choose(row["collective"], [*sizes_of(row)])
        assert set(launched_channels(model, choices).tolist()) == {int(row["channels"])}, row


def test_symmetric_kernels_are_nccls_own() -> None:
    for row in read("symmetric.csv"):
        model = model_of(
            "2.27.7", row["machine"], 18 if "nvl72" in row["machine"] else 1, f"NCCL_NVLS_ENABLE={row['nvls']}"
        )
        (call,) = symmetric_calls(model, row["collective"], [int(row["bytes"])])
        assert (call.kernel, str(call.blocks or "")) == (row["kernel"], row["blocks"]), row
        assert not row["us"] or call.time_us == pytest.approx(float(row["us"]), rel=1e-6), row
