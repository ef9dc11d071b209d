"""TPU slices, Trainium and Gaudi by name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.nccl.programs.spec import model_of
from hocket.simulator.installation import installation
from hocket.topology import load
from hocket.topology.machines.integrated_machines import INTEGRATED

GB = 10**9


def kinds(spec: str) -> list[tuple[str, int, float]]:
    return [(each.kind, each.size, each.bandwidth / GB) for each in load(spec).dimensions]


@pytest.mark.parametrize("name", INTEGRATED)
def test_each_is_a_topology_that_is_named_by_itself(name: str) -> None:
    record, two = INTEGRATED[name], load(f"{name}:nodes=2")
    one = load(name)
    assert load(one.name).fingerprint == one.fingerprint
    assert load(two.name).fingerprint == two.fingerprint
    assert two.num_ranks == 2 * one.num_ranks
    assert set(two.bandwidth[two.link_class == two.classes.index("fabric")].tolist()) >= {record.nic}
    assert one.notes == two.notes == (f"{name}: assumed: {record.assumed}",)
    assert load(record.example).num_ranks >= 2
    found = installation(f"{name}:nodes=2")
    assert found.accelerator is not None
    assert found.accelerator.name == record.accelerator
    assert found.library is None


def test_what_a_chip_sends() -> None:
    """All its links together, GB/s per direction: what the vendors say of a chip."""
    out = {
        "tpu-v5p": 600,
        "tpu-v6e": 400,
        "tpu7x": 600,
        "trn2": 512,
        "trn2-ultra": 640,
        "trn3-ultra": 352,
        "gaudi3": 525,
    }
    for name, expected in out.items():
        topology = load(name)
        assert topology.bandwidth[topology.src == 0].sum() == expected * GB, name


def test_rings_close_where_slices_are_whole() -> None:
    assert kinds("tpu-v5p:shape=4x4x8") == [("ring", 4, 100), ("ring", 4, 100), ("ring", 8, 100)]
    assert kinds("tpu-v5p:shape=2x2x4") == [("mesh", 2, 100), ("mesh", 2, 100), ("mesh", 4, 100)]
    assert kinds("tpu-v5p:shape=2x2x1") == [("mesh", 2, 100), ("mesh", 2, 100)]
    assert kinds("tpu-v6e:shape=8x16") == [("mesh", 8, 100), ("ring", 16, 100)]
    assert kinds("trn2-ultra") == [("ring", 4, 128), ("ring", 4, 128), ("ring", 4, 64)]
    assert kinds("gaudi3:link=50GB/s") == [("fully_connected", 8, 50)]
    assert load("tpu-v5p:shape=16x20x28").num_ranks == 8960
    assert load("tpu-v5p:latency=2us").latency_ps.max() == 2_000_000


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tpu-v5p:shape=4x4", "shape=4x4: expected 3 sizes, such as tpu-v5p:shape=4x4x4"),
        ("tpu-v5p:shape=4x4xa", "shape=4x4xa: expected 3 sizes"),
        ("tpu-v5p:shape=4x4x0", "0 chips; a slice of tpu-v5p has 2 to 8960"),
        ("tpu-v5p:shape=32x32x32", "32768 chips; a slice of tpu-v5p has 2 to 8960"),
        ("tpu-v6e:shape=2x32", "a dimension of tpu-v6e has at most 16 chips"),
        ("trn2:shape=4x4", "a trn2 is built as it is; drop shape"),
        ("trn2:gpus=4", "unknown key 'gpus'"),
        ("gaudi3:nodes=20000", "gaudi3 takes nodes from 1 to 16384"),
        ("tpu-v5q", "did you mean"),
    ],
)
def test_what_cannot_be_had(spec: str, message: str) -> None:
    with pytest.raises((FormatError, TopologyError), match=message):
        load(spec)


@given(shape=st.lists(st.integers(0, 40), min_size=1, max_size=4), nodes=st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_any_shape_is_a_topology_or_an_error(shape: list[int], nodes: int) -> None:
    spec = f"tpu-v6e:shape={'x'.join(map(str, shape))},nodes={nodes}"
    try:
        assert load(spec).num_ranks == nodes * shape[0] * shape[1]
    except HocketError as error:
        assert spec in str(error)


def test_commands_take_them_and_say_whose_library_is_not_known() -> None:
    done = hocket("simulate", "all_reduce", "-t", "tpu-v5p", "-s", "64MiB")
    assert done.stdout.startswith("assumed: no library (XLA, not modelled): the native algorithm")
    with pytest.raises(FormatError, match="tpu-v5p: does not say what NCCL would see"):
        model_of("tpu-v5p", 64)
    done = hocket("nccl", "choose", "-t", "trn2")
    assert "'trn2': the Neuron runtime runs its collectives, which is not modelled" in done.stderr
    done = hocket("topology", "show", "trn3-ultra")
    assert "note: trn3-ultra: assumed: latency of a link (1 us)" in done.stdout
