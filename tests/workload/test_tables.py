"""Tables and ASTRA-sim's workload texts: what they mean, what is refused, and that no bytes crash the readers."""

from functools import partial
from pathlib import Path

import in_process
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError
from hocket.chakra import CollectiveType
from hocket.workload.astra_text import read_astra_text
from hocket.workload.network import Layer, Network, Pass, Scope
from hocket.workload.plan import HybridPlan
from hocket.workload.table import KINDS, read_table, write_table
from hocket.workload.training import generate_training

TABLE = (
    "name,forward.time,weight_gradient.flops,weight_gradient.comm,weight_gradient.bytes\na,1us,2e9,all_reduce,4MiB\n"
)
TEXT = """\
HYBRID_TRANSFORMER\tmodel_parallel_NPU_group: 4
2
in\t-1\t300\tALLGATHER\t8388608\t1\tNONE\t0\t1\tNONE\t0\t10
out -1 5 ALLREDUCE 100 6 ALLREDUCE 200 7 ALLREDUCE 300 8
"""


hocket = partial(in_process.hocket, "generate", "network")


def text_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "workload.txt"
    path.write_text(text)
    return path


def test_a_preset_s_table_makes_the_same_traces(tmp_path: Path) -> None:
    options = ["--ranks", 4, "--parallel", "hybrid:2", "--steps", 2]
    assert hocket("gnmt", *options, "--table", tmp_path / "gnmt.csv", "-o", tmp_path / "preset").returncode == 0
    assert hocket(tmp_path / "gnmt.csv", *options, "-o", tmp_path / "table").returncode == 0
    files = sorted(path.name for path in (tmp_path / "preset").iterdir())
    assert files == ["comm_groups.json", *(f"trace.{rank}.et" for rank in range(4))]
    for name in files:
        assert (tmp_path / "preset" / name).read_bytes() == (tmp_path / "table" / name).read_bytes()


def test_astra_text_of_a_hybrid_transformer(tmp_path: Path) -> None:
    text = read_astra_text(text_of(tmp_path, TEXT))
    gather, reduce = CollectiveType.ALL_GATHER, CollectiveType.ALL_REDUCE
    assert text.plan == "hybrid:4"
    assert text.network.layers == (
        Layer("in", Pass(300, 0, 0, gather, 8388608, Scope.MODEL), Pass(1), Pass(1), Pass(10)),
        Layer(
            "out",
            Pass(5, 0, 0, reduce, 100, Scope.MODEL),
            Pass(6, 0, 0, reduce, 200, Scope.MODEL),
            Pass(7, 0, 0, reduce, 300, Scope.DATA),
            Pass(8),
        ),
    )


@pytest.mark.parametrize(
    ("policy", "plan", "forward", "weight_gradient", "first_input_gradient"),
    [
        ("DATA", "data", None, Scope.ALL, Pass(0)),
        ("MODEL", "model", Scope.ALL, None, Pass(6)),
        ("HYBRID_DATA_MODEL", None, Scope.MODEL, Scope.DATA, Pass(6)),
        ("HYBRID_MODEL_DATA", None, Scope.DATA, Scope.MODEL, Pass(6)),
    ],
)
def test_astra_text_says_who_communicates(
    policy: str,
    plan: str | None,
    forward: Scope | None,
    weight_gradient: Scope | None,
    first_input_gradient: Pass,
    tmp_path: Path,
) -> None:
    layer = "-1 5 ALLREDUCE 100 6 ALLREDUCE 200 7 ALLREDUCE 300 8"
    whole = read_astra_text(text_of(tmp_path, f"{policy}\n2\na {layer}\nb {layer}\n"))
    assert whole.plan == plan
    one_by_one = read_astra_text(text_of(tmp_path, f"HYBRID_CUSTOMIZED\n2\na {layer} {policy}\nb {layer} {policy}\n"))
    assert one_by_one.network.layers[1] == whole.network.layers[1]
    assert one_by_one.plan is None
    first, second = whole.network.layers
    for step, duration, scope in zip(second.passes, (5, 6, 7), (forward, forward, weight_gradient), strict=False):
        assert step.duration_ns == duration
        assert (step.kind, step.scope) == (None, Scope.ALL) if scope is None else (CollectiveType.ALL_REDUCE, scope)
    assert first.input_gradient == first_input_gradient


def test_astra_text_of_dlrm_overlaps_its_embedding(tmp_path: Path) -> None:
    layer = "-1 5 NONE 0 6 NONE 0 7 ALLREDUCE 300 8"
    embedding = "table -1 5 ALLTOALL 100 6 ALLTOALL 200 7 NONE 0 8"
    for head in ("HYBRID_DLRM 1", "HYBRID_DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 1"):
        text = read_astra_text(text_of(tmp_path, f"{head}\n3\n{embedding}\nbottom {layer}\ntop {layer}\n"))
        table = text.network.layers[0]
        assert (text.plan, table.needed_by) == ("data", "top")
        assert table.input_gradient == Pass(0, 0, 0, CollectiveType.ALL_TO_ALL, 200, Scope.ALL)


def test_astra_text_needs_to_know_the_first_dimension(tmp_path: Path) -> None:
    path = text_of(tmp_path, "HYBRID_DATA_MODEL\n1\na -1 5 NONE 0 6 NONE 0 7 ALLREDUCE 300 8\n")
    done = hocket(path, "--ranks", 4, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "--parallel hybrid:8" in " ".join(done.stderr.split())
    assert hocket(path, "--ranks", 4, "--parallel", "hybrid:2", "-o", tmp_path / "out").returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "name,forward.tim\na,1us\n", "a.csv:2: unknown key 'tim'; did you mean 'time'?"),
        ("a.csv", "name,forward.time\na,1us,3\n", "a.csv:2: 3 cells"),
        ("a.csv", "name,forward.time\n\na,1\n", "a.csv:3: forward.time: '1' is not a time"),
        ("a.csv", "name,name\na,b\n", "a.csv:1: a column occurs twice"),
        ("a.csv", "name,update,update.time\na,1us,1us\n", "exclude each other"),
        ("a.csv", "name,forward.comm\na,all_redce\n", "did you mean 'all_reduce'?"),
        ("a.csv", "name,forward.bytes\na,5\n", "say which collective"),
        ("a.csv", "name,forward.flops\na,1.5\n", "'1.5' is not a whole number"),
        ("a.csv", "name,forward.flops,forward.time\na,1,1us\n", "not both"),
        ("a.csv", "name,forward.comm,forward.group\na,all_reduce,some\n", "known: all, data, model"),
        ("a.csv", "name,needed_by\na,a\n", "which is no later layer"),
        ("a.csv", "name\na\na\n", "occurs twice"),
        ("a.csv", "name\n", "needs a layer"),
        ("a.csv", "", "needs a layer"),
        ("a.yaml", "layers:\n- name: a\n  forward: {time: 1us, comm: x}\n", "a.yaml:3: forward.comm: 'x'"),
        ("a.yaml", "layers: 3\n", "Expected `array`"),
        ("a.txt", "DATA\n", "the number of layers"),
        ("a.txt", "DATO\n1\nx\n", "a.txt:1: 'DATO' is not read; did you mean 'DATA'?"),
        ("a.txt", "DATA\n2\na -1 5 NONE 0 6 NONE 0 7 NONE 0 8\n", "a.txt:2: expected the number of layers, 1"),
        ("a.txt", "DATA\n1\na -1 5 NONE 0\n", "a.txt:3: 5 fields, but a layer of DATA has 12"),
        ("a.txt", "DATA\n1\na -1 5 NIL 0 6 NONE 0 7 NONE 0 8\n", "'NIL' is not a collective"),
        ("a.txt", "DATA\n1\na -1 5.5 NONE 0 6 NONE 0 7 NONE 0 8\n", "whole number"),
        ("a.txt", "HYBRID_DLRM\n1\na -1 5 NONE 0 6 NONE 0 7 NONE 0 8\n", "DLRM_LAST_BOTTOM_LAYER: N"),
        ("a.txt", "HYBRID_TRANSFORMER checkpoints: 4\n1\na\n", "option 'checkpoints:' is not read"),
    ],
)
def test_what_is_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError) as error:
        read_astra_text(tmp_path / name) if name.endswith("txt") else read_table(tmp_path / name)
    assert message in str(error.value)


def test_a_refusal_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,forward.time\na,1\n")
    done = hocket(tmp_path / "a.csv", "--ranks", 2, "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: {tmp_path / 'a.csv'}:2: forward.time: '1' is not a time")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["resnet", "--ranks", 2], 3, "did you mean 'resnet50'?"),
        (["resnet50", "--ranks", 6, "--parallel", "hybrid:4"], 3, "do not divide 6 ranks"),
        (["resnet50", "--ranks", 6, "--parallel", "pipeline"], 3, "no plan of parallelism"),
        (["turing-nlg", "--ranks", 8, "--parallel", "model"], 3, "28 attention heads cannot be shared by 8"),
        (["dlrm", "--ranks", 8, "--parallel", "hybrid:2"], 3, "its plan is data"),
        (["resnet50", "--ranks", 2, "--accelerator", "h1000"], 3, "did you mean 'h100'"),
        (["resnet50", "--ranks", 2, "--precision", "bf15"], 2, "--precision bf15: no such choice; did you mean 'bf16'"),
    ],
)
def test_what_presets_refuse(arguments: list[object], code: int, message: str, tmp_path: Path) -> None:
    done = hocket(*arguments, "-o", tmp_path / "out")
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())


PASSES = st.one_of(
    st.builds(Pass, st.integers(0, 10**15)),
    st.builds(Pass, st.none(), st.integers(0, 10**15), st.integers(0, 10**15)),
)
COMMUNICATING = st.builds(
    lambda work, kind, size, scope: Pass(work.duration_ns, work.num_ops, work.memory_bytes, kind, size, scope),
    PASSES,
    st.sampled_from(sorted(KINDS.values())),
    st.integers(0, 2**40),
    st.sampled_from(Scope),
)
ANY_PASS = st.one_of(PASSES, COMMUNICATING)
NAME = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=8)


@given(st.lists(st.builds(Layer, NAME, ANY_PASS, ANY_PASS, ANY_PASS, PASSES), min_size=1, unique_by=lambda x: x.name))
@settings(max_examples=50)
def test_tables_come_back_as_written(tmp_path: Path, layers: list[Layer]) -> None:
    write_table(tmp_path / "table.csv", Network(tuple(layers)))
    assert read_table(tmp_path / "table.csv").layers == tuple(layers)


def check_reader(path: Path, content: bytes) -> None:
    """Whatever is read is a network that makes traces, or its numbers are too large for them; the rest is refused."""
    path.write_bytes(content)
    try:
        network = read_astra_text(path).network if path.suffix == ".txt" else read_table(path)
        generate_training(network, HybridPlan(4, 2))
    except FormatError as error:
        assert str(path) in str(error)
    except HocketError as error:
        assert "accelerator" in str(error)


@given(st.sampled_from([".csv", ".yaml", ".txt"]), st.binary(max_size=80))
@example(".csv", b'"')
@example(".csv", b"name\n\0\n")
@settings(max_examples=150)
def test_random_bytes(tmp_path: Path, suffix: str, content: bytes) -> None:
    check_reader(tmp_path / f"f{suffix}", content)


@given(st.sampled_from([(".csv", TABLE), (".txt", TEXT)]), st.data())
@settings(max_examples=300)
def test_mutated_files(tmp_path: Path, file: tuple[str, str], data: st.DataObject) -> None:
    suffix, text = file
    for _ in range(data.draw(st.integers(1, 3))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 12))
        inserted = data.draw(
            st.sampled_from(["", "9" * 25, "-", ",", "\n", '"', ".", "\t", "1e9999", "NONE", "é", "{"])
        )
        text = text[:at] + inserted + text[at + length :]
    check_reader(tmp_path / f"f{suffix}", text.encode())
