"""Traces converted with the profile for ASTRA-sim run to their end in an executable specification of its rules."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from in_process import hocket
from outputs import IMPORTS, OUTPUTS

from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.chakra.messages import Node

# The specification leaves the files that it reads to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces"
MACHINE = {"topo": ["Ring"], "bw": [50.0], "lat": [500.0]}


@pytest.fixture
def model(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The specification, with Hocket's messages in the place of protoc's generated module."""
    path = shared.parent / "reference" / "astra_model.py"
    if not path.is_file():
        pytest.skip("no executable specification of ASTRA-sim beside the golden data")
    generated = ModuleType("et_def_pb2")
    generated.Node = Node
    for enum in Node.DESCRIPTOR.file.enum_types_by_name.values():
        vars(generated).update({value.name: value.number for value in enum.values})
    monkeypatch.setitem(sys.modules, "et_def_pb2", generated)
    monkeypatch.setattr(sys, "path", list(sys.path))
    specification = importlib.util.spec_from_file_location("astra_model", path)
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    specification.loader.exec_module(module)
    yield module


def finish_times(model: ModuleType, shared: Path, traces: TraceSet, folder: Path, kind: str) -> list[int | None]:
    """When each rank finished (ns), None where it never did, with the traces as `convert` writes them."""
    write_traces(folder, traces, profile="astra-sim")
    groups = {int(name): ranks for name, ranks in json.loads((folder / "comm_groups.json").read_text()).items()}
    system = json.loads((shared / "chakra" / "astra_ok" / "sys_ring4.json").read_text())
    machine = MACHINE | {"npus": [len(traces.traces)]}
    simulation = model.Sim(kind, system, **machine, wl=str(folder / "trace"), groups=groups)
    return [None if result is None else result[0] for result in simulation.result()]


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["unaware", "aware"])
def test_the_shipped_traces_run_to_their_end(model: ModuleType, shared: Path, tmp_path: Path, kind: str) -> None:
    traces = read_traces(EXAMPLE)
    finished = finish_times(model, shared, traces, tmp_path, kind)
    for rank, (time, trace) in enumerate(zip(finished, traces.traces, strict=True)):
        assert time is not None, f"rank {rank} is stuck"
        # each thread is a chain: a rank's end is not before its own compute is done, in whole microseconds
        assert time >= 1000 * trace.duration_us[trace.type == NodeType.COMP].max()


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["unaware", "aware"])
@pytest.mark.parametrize("prefix", ["ddp_tf", "fsdp2_tf", "moe_a2a", "pp_sched", "tp_sp_tf"])
def test_captured_traces_run_to_their_end(
    model: ModuleType, shared: Path, tmp_path: Path, prefix: str, kind: str
) -> None:
    traces = read_traces(shared / "chakra" / "from_interposed" / prefix)
    assert None not in finish_times(model, shared, traces, tmp_path, kind)


@pytest.mark.shared
@pytest.mark.parametrize("name", [*OUTPUTS, *IMPORTS])
def test_outputs_run_to_their_end(model: ModuleType, shared: Path, tmp_path: Path, name: str) -> None:
    if name in OUTPUTS:
        OUTPUTS[name](tmp_path / "made")
    else:
        files = sorted(shared.glob(IMPORTS[name]))
        assert hocket("trace", "import", *files, "-o", tmp_path / "made").returncode == 0
    assert None not in finish_times(model, shared, read_traces(tmp_path / "made"), tmp_path / "astra", "unaware")


@pytest.mark.shared
def test_the_model_tells_a_rank_that_never_finishes(model: ModuleType, shared: Path, tmp_path: Path) -> None:
    def rank_trace(rank: int) -> TraceBuilder:
        builder = TraceBuilder()
        if rank < 3:
            builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 1 << 20, group="0")
        else:
            builder.add_comp("alone", duration_ns=1000)
        return builder

    traces = TraceSet(tuple(rank_trace(rank).build() for rank in range(4)))
    assert finish_times(model, shared, traces, tmp_path, "unaware") == [None, None, None, 1000]
