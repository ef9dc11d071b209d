"""Simulations and sweeps from Python: what the commands can, with names, paths and numbers."""

from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.chakra import read_traces
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective, simulate_traces
from hocket.topology import load

TRACES = Path(__file__).parents[2] / "examples" / "traces"
TWO = "dgx-h100:nodes=2"


def test_a_job_with_paths_names_and_numbers(tmp_path: Path) -> None:
    result = hocket.simulate(TRACES, "dgx-h100:gpus=4", compute_scale=0.001, json=tmp_path / "p.json")
    assert result.time_ps == result.prediction.time_ps > result.bound_ps > 0
    assert result.request.job.compute_scale == "0.001"
    assert (tmp_path / "p.json").read_text("utf-8").count('"verb": "simulate"') == 1
    assert "exposed communication" in result.summary()
    assert set(result.columns()) >= {"collectives", "ranks", "links"}


def test_results_and_data_are_short_where_they_are_shown() -> None:
    traces, topology = read_traces(TRACES), load(TWO)
    shown = [hocket.simulate(TRACES, TWO), traces, traces.traces[0], topology]
    shown += [simulate_traces(traces, topology), simulate_traces(traces, topology).workload]
    for each in shown:
        assert 10 < len(repr(each)) < 200, repr(each)


@pytest.mark.parametrize("algorithm", ["nccl", "nccl:tree/ll", "nccl-model"])
def test_stock_nccl_is_an_algorithm_of_every_way_to_simulate(algorithm: str, tmp_path: Path) -> None:
    topology = load(TWO)
    alone = simulate_collective(Collective(Kind.ALL_REDUCE, 16, 1 << 20), topology, algorithm).time_ps
    given = model_of(TWO, 16)
    assert (
        simulate_collective(Collective(Kind.ALL_REDUCE, 16, 1 << 20), topology, algorithm, nccl=given).time_ps == alone
    )
    assert hocket.simulate("all_reduce", TWO, "1MiB", algorithm=algorithm).time_ps == alone
    (tmp_path / "s.yaml").write_text(f"topology: {TWO}\ncollective: all_reduce\nsize: 1MiB\nalgorithm: {algorithm}\n")
    swept = hocket.sweep(tmp_path / "s.yaml", output=tmp_path / "out").results
    assert swept["time_ps"].tolist() == [alone] and swept["algorithm"].tolist() == [algorithm]
    first = simulate_traces(read_traces(TRACES), load("dgx-h100"), algorithms=algorithm)
    assert first.time_ps == hocket.simulate(TRACES, "dgx-h100", algorithm=algorithm).time_ps


def test_a_sweep_varies_any_option_of_simulate(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"topology: [dgx-h100:gpus=4, dgx-a100:gpus=4]\nwhat: {TRACES}\ncompute_scale: [1, 1/1000]\n")
    results = hocket.sweep(file, output=tmp_path / "out").results
    assert results["compute_scale"].tolist() == ["1", "1/1000"] * 2
    alone = hocket.simulate(TRACES, "dgx-a100:gpus=4", compute_scale="1/1000")
    assert results["time_ps"][-1] == alone.time_ps
    assert np.array_equal(results["ratio"] >= 1, [True] * 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "all_reduce", "topology": "dgx-h100"}, "size is missing"),
        ({"what": "all_reduce", "topology": "dgx-h100", "size": "1MiB", "parquet": True}, "add tables DIR"),
        ({"what": "all_reduce", "topology": "dgx-h100", "size": "much"}, "'much' is not a size"),
        ({"what": "all_reduce", "topology": "nowhere", "size": 8}, "no topology 'nowhere'"),
        ({"what": "all_reduce", "topology": "dgx-h100", "size": 8, "model": "flaw"}, "did you mean 'flow'"),
        ({"what": "all_reduce", "topology": "dgx-h100", "size": 8, "compute_scale": 2}, "has no computation"),
        ({"what": "all_reduce", "topology": load("dgx-h100"), "size": 8}, "topology"),
        ({"what": "absent/", "topology": "dgx-h100"}, "no trace here"),
    ],
)
def test_wrong_use_is_one_clear_error(options: dict[str, object], message: str) -> None:
    with pytest.raises(hocket.HocketError, match=message):
        hocket.simulate(**options)
