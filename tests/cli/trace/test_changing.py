"""`hocket trace slice | merge | diff | anonymize | timeline | graph` as a user runs them."""

import gzip
import json
import shutil
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import in_process
import pytest
from trace_commands import hocket, training, write_training

from hocket.chakra import NodeType, TraceSet, read_trace, read_traces, write_trace, write_traces
from hocket.chakra.messages import read_messages
from hocket.chakra.steps import step_of_nodes


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training(tmp_path_factory.mktemp("job"))


def errors_of(folder: Path) -> str:
    return hocket("validate", folder).stdout.splitlines()[-1]


def test_slice_of_steps(job: Path, tmp_path: Path) -> None:
    done = hocket("slice", job, "--steps", "1:3", "-o", tmp_path / "part")
    assert done.returncode == 0, done.stderr
    # Of each rank 2 steps of 6 nodes; the first node of step 1 depended on one of step 0, the only one cut off.
    assert done.stdout.splitlines() == [
        f"wrote 4 traces with 48 nodes to {tmp_path / 'part'}",
        "  4 x dependencies led past nodes that were left out",
    ]
    part = read_traces(tmp_path / "part")
    assert [trace.id.tolist() for trace in part.traces] == [list(range(6, 18))] * 4
    assert step_of_nodes(part.traces[0], "part").tolist() == [1] * 6 + [2] * 6
    assert part.traces[0].data_deps.min() == 6
    assert errors_of(tmp_path / "part") == "4 ranks, 48 nodes: 0 errors, 0 warnings"


def test_slice_of_ranks(job: Path, tmp_path: Path) -> None:
    done = hocket("slice", job, "--ranks", "2,3,1", "-o", tmp_path / "part", "--gzip")
    assert done.returncode == 0, done.stderr
    # The ring 0 -> 1 -> 2 -> 3 -> 0 loses what 0 sends to 1 and 3 to 0: a message of ranks 3 and 1 in each of 4 steps,
    # on which one node depends.
    assert "8 x messages from or to ranks that are not in the part left out" in done.stdout
    assert "8 x dependencies led past nodes that were left out" in done.stdout
    assert "group 'half0': 1 of its 2 ranks stay" in done.stdout
    assert "ranks: 2 -> 0, 3 -> 1, 1 -> 2" in done.stdout
    part = read_traces(tmp_path / "part")
    assert part.groups == {"half0": (2,), "half1": (0, 1)}
    assert [trace.metadata["rank"] for trace in part.traces] == [0, 1, 2]
    assert {trace.metadata["world_size"] for trace in part.traces} == {3}
    sends = part.traces[0].type == NodeType.COMM_SEND
    assert set(part.traces[0].comm_dst[sends]) == {1}
    assert errors_of(tmp_path / "part") == "3 ranks, 64 nodes: 0 errors, 0 warnings"
    # The message to rank 2 depends on node 0. The sum depended on it, node 1, and on what 0 sent: now on node 0.
    assert read_trace(tmp_path / "part" / "trace.2.et.gz").data_deps[:3].tolist() == [0, 1, 0]


def test_slice_of_nodes_and_times(job: Path, tmp_path: Path) -> None:
    assert hocket("slice", job, "--nodes", "6:18", "-o", tmp_path / "nodes").returncode == 0
    # A node each 100 us: nodes 6 to 17 start from 0.6 ms on, before 1.8 ms.
    assert hocket("slice", job, "--time", "0.6ms:1.8ms", "-o", tmp_path / "time").returncode == 0
    assert hocket("slice", job, "--steps", "1:3", "-o", tmp_path / "steps").returncode == 0
    assert hocket("slice", job, "--steps", "0:", "-o", tmp_path / "all").returncode == 0
    for rank in range(4):
        part, *others = ((tmp_path / way / f"trace.{rank}.et").read_bytes() for way in ("nodes", "time", "steps"))
        assert others == [part, part]
        assert (tmp_path / "all" / f"trace.{rank}.et").read_bytes() == (job / f"trace.{rank}.et").read_bytes()


def test_slice_refuses_what_is_not_there(job: Path, tmp_path: Path) -> None:
    for arguments, code, message in [
        (["--steps", "7:9"], 3, "nothing of it is in the part that is asked for; its steps are 0 to"),
        (["--ranks", "3,4"], 3, "expected different ones of 0 to 3"),
        (["--steps", "3:1"], 2, "expected a first number"),
        (["--time", "1ms"], 2, "expected two times"),
        ([], 2, "which part?"),
    ]:
        done = hocket("slice", job, *arguments, "-o", tmp_path / "part")
        assert (done.returncode, message in done.stderr.replace("\n│ ", " ")) == (code, True), done.stderr
    assert not (tmp_path / "part").exists()
    assert hocket("slice", job, "--steps", "0:1", "-o", job).returncode == 2


@pytest.mark.shared
@pytest.mark.parametrize("prefix", ["ddp_tf", "fsdp2_tf", "pp_sched", "moe_a2a"])
def test_slices_of_captured_traces_are_sound(shared: Path, tmp_path: Path, prefix: str) -> None:
    source = shared / "chakra" / "from_interposed" / prefix
    assert hocket("slice", source, "--ranks", "1,2", "-o", tmp_path / "part").returncode == 0
    assert hocket("slice", source, "--time", "1ms:10s", "-o", tmp_path / "late").returncode == 0
    for part in ("part", "late"):
        for trace in read_traces(tmp_path / part).traces:
            assert set(trace.data_deps) | set(trace.ctrl_deps) <= set(trace.id)
    assert errors_of(tmp_path / "part").split(": ")[1] == "0 errors, 0 warnings"


def test_merge_of_folders_with_other_numbers(job: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for rank in range(4):  # ranks 10 to 13 under names of their own on two hosts
        trace = training(rank)
        metadata = {key: value for key, value in trace.metadata.items() if key != "rank"}
        other = trace.__class__(**{**vars(trace), "metadata": metadata, "comm_src": trace.comm_src + 10})
        other.comm_src[trace.comm_src < 0] = -1
        other.comm_dst[trace.comm_dst >= 0] += 10
        write_trace(tmp_path / "ab"[rank // 2] / f"worker{10 + rank}_step5.rank{10 + rank}.et", other)
    (tmp_path / "a" / "comm_groups.json").write_text('{"half0": [10, 11]}')
    (tmp_path / "b" / "comm_groups.json").write_text('{"half1": [12, 13]}')
    done = hocket("merge", tmp_path / "b", tmp_path / "a" / "worker", "-o", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    assert "rank 2 (was 12): " in done.stdout
    whole = read_traces(tmp_path / "whole")
    assert whole.groups == {"half0": (0, 1), "half1": (2, 3)}
    assert errors_of(tmp_path / "whole") == "4 ranks, 96 nodes: 0 errors, 0 warnings"
    for rank, trace in enumerate(whole.traces):
        assert trace.comm_dst.tolist() == training(rank).comm_dst.tolist()


def test_merge_asks_when_numbers_are_not_clear(job: Path, tmp_path: Path) -> None:
    for host in (0, 1):  # each host counts its ranks from 0; the nodes have the ranks of the job
        (tmp_path / f"host{host}").mkdir()
        for local in (0, 1):
            trace = training(2 * host + local)
            trace.metadata.clear()
            write_trace(tmp_path / f"host{host}" / f"trace.{local}.et", trace)
    hosts = [tmp_path / "host0", tmp_path / "host1"]
    done = hocket("merge", *hosts, "-o", tmp_path / "whole")
    assert (done.returncode, "are both of rank 0" in done.stderr, "--in-order" in done.stderr) == (3, True, True)
    assert hocket("merge", *hosts, "-o", tmp_path / "whole", "--in-order").returncode == 0
    assert hocket("merge", *hosts, "-o", tmp_path / "named", "--ranks", "0-3").returncode == 0
    for rank in range(4):
        written = [(tmp_path / folder / f"trace.{rank}.et").read_bytes() for folder in ("whole", "named")]
        assert written[0] == written[1]
        assert read_trace(tmp_path / "whole" / f"trace.{rank}.et").comm_dst.tolist() == training(rank).comm_dst.tolist()
    assert hocket("merge", tmp_path / "nowhere", "-o", tmp_path / "x").returncode == 3


def test_diff_finds_the_first_difference(job: Path, tmp_path: Path) -> None:
    done = hocket("diff", job, job)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the runs communicate alike")
    other = write_training(tmp_path / "other", num_steps=3)
    changed = training(2, num_steps=3)
    changed.comm_bytes[9] = 4096  # the second sum of the half: communication 4 + 2 of rank 2
    write_trace(other / "trace.2.et", changed)
    done = hocket("diff", job, other)
    assert done.returncode == 1
    assert "COMP nodes: 32 -> 24" in done.stdout
    # 4 steps on 2 ranks, of which a step is gone and one sum has become smaller.
    assert "all_reduce of 1048576 bytes of float32 among ranks [2, 3]: 8 -> 5" in done.stdout
    assert "all_reduce of 4096 bytes of float32 among ranks [2, 3]: 0 -> 1" in done.stdout
    found = json.loads(hocket("diff", job, other, "--json", "-").stdout)
    assert found["differs"] is True
    assert [(one["rank"], one["index"]) for one in found["divergences"]] == [(0, 12), (1, 12), (2, 6), (3, 12)]
    second = found["divergences"][2]
    assert (second["first_node"], second["second_node"]) == (9, 9)
    assert second["second"] == "all_reduce of 4096 bytes of float32 among ranks [2, 3]"
    assert found["divergences"][0]["second"] is None


def test_diff_does_not_mind_names_and_durations(job: Path, tmp_path: Path) -> None:
    shutil.copytree(job, tmp_path / "other")
    assert hocket("anonymize", job, "-o", tmp_path / "other").returncode == 0
    slower = read_trace(tmp_path / "other" / "trace.0.et")
    slower.duration_ns[:] *= 2
    slower.duration_us[:] *= 2
    write_trace(tmp_path / "other" / "trace.0.et", slower)
    done = hocket("diff", job, tmp_path / "other")
    assert done.returncode == 0
    # Two sums of 50 us in each of 4 steps; a rank has 8 computations and 16 pieces of communication of 50 us.
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["0", "all_reduce", "0.400", "ms", "0.800", "ms", "+100.0", "%"] in rows
    assert ["1", "all_reduce", "0.400", "ms", "0.400", "ms", "+0.0", "%"] in rows
    # Of 4 ranks one takes twice as long: a quarter more.
    assert ["all", "computation", "1.600", "ms", "2.000", "ms", "+25.0", "%"] in rows
    assert ["all", "communication", "3.200", "ms", "4.000", "ms", "+25.0", "%"] in rows
    assert hocket("diff", job, tmp_path / "other", "--durations", 25).returncode == 0
    changed = hocket("diff", tmp_path / "other", job, "--durations", "19.5")  # 1.6 of 2.0: 20 % less
    assert (changed.returncode, changed.stdout.splitlines()[-2:]) == (
        1,
        ["the runs communicate alike", "computation or communication changed by more than 19.5 %"],
    )
    untimed = json.loads(hocket("diff", job, job, "--durations", 0, "--json", "-").stdout)
    assert untimed["totals"][0] == {"rank": None, "kind": "computation", "first": 1_600_000, "second": 1_600_000}


def test_diff_of_groups_and_ranks(job: Path, tmp_path: Path) -> None:
    write_traces(tmp_path, TraceSet(tuple(map(training, range(3))), {"half0": (0, 2)}))
    found = json.loads(hocket("diff", job, tmp_path / "trace", "--json", "-").stdout or "{}")
    assert found == {}  # world_size 4 in the metadata: a rank is missing
    (tmp_path / "comm_groups.json").write_text('{"half0": [0, 2], "half1": [2, 3]}')
    write_trace(tmp_path / "trace.3.et", training(3))
    found = json.loads(hocket("diff", job, tmp_path, "--json", "-").stdout)
    assert (found["groups_only_first"], found["groups_only_second"]) == ([[0, 1]], [[0, 2]])


def test_anonymize(job: Path, tmp_path: Path) -> None:
    done = hocket("anonymize", job, "-o", tmp_path / "public")
    assert done.returncode == 0, done.stderr
    assert "replaced: 2 names of nodes, 2 names of groups" in done.stdout
    assert "kept: the order" in done.stdout
    for path in (tmp_path / "public").iterdir():
        content = path.read_bytes()
        assert not [word for word in (b"secret", b"private", b"optimizer", b"half") if word in content], path
    before, after = read_traces(job), read_traces(tmp_path / "public")
    assert after.groups == {"g1": (0, 1), "g2": (2, 3)}
    for old, new in zip(before.traces, after.traces, strict=True):
        names = [new.text(new.name, row) for row in range(len(new))]
        assert names[:6] == ["op1", "send", "recv", "all_reduce", "all_reduce", "op2"]
        assert (old.comm_bytes.tolist(), old.data_deps.tolist()) == (new.comm_bytes.tolist(), new.data_deps.tolist())
        assert step_of_nodes(old, "a").tolist() == step_of_nodes(new, "b").tolist()
        assert new.text(new.dtype, 3) == "float32"


@pytest.mark.shared
def test_anonymize_leaves_nothing_of_a_foreign_trace(shared: Path, tmp_path: Path) -> None:
    source = shared / "chakra" / "gloo_torch215" / "ddp_cnn.0.et"
    assert hocket("anonymize", source, "-o", tmp_path).returncode == 0
    metadata, *nodes = read_messages(tmp_path / "trace.0.et")
    assert [attribute.name for attribute in metadata.attr] == []
    for node in nodes:
        assert {attribute.name for attribute in node.attr} <= {"is_cpu_op", "num_ops", "tensor_size"}
        assert not node.HasField("inputs")
        assert node.name.startswith(("op", "ProfilerStep#"))


def test_timeline(job: Path, tmp_path: Path) -> None:
    done = hocket("timeline", job, "-o", tmp_path / "t.json.gz")
    assert done.returncode == 0, done.stderr
    with gzip.open(tmp_path / "t.json.gz") as file:
        events = json.load(file)["traceEvents"]
    hocket("timeline", job, "-o", tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"] == events  # plain without .gz
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 96
    assert (spans[0]["ts"], spans[0]["dur"], spans[0]["name"]) == (0, 50, "private.layer")
    by_track: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for span in spans:
        by_track.setdefault((span["pid"], span["tid"]), []).append((span["ts"], span["ts"] + span["dur"]))
    for track in by_track.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(track)))
    # Each step a message from each rank to the next: its receive (200 us on) ends 150 us after its send (100 us) began.
    begins, ends = ({event["id"]: event for event in events if event["ph"] == end} for end in "sf")
    assert (len(begins), begins.keys()) == (16, ends.keys())
    for number, begin in begins.items():
        end = ends[number]
        assert (begin["pid"] + 1) % 4 == end["pid"] and end["ts"] - begin["ts"] == pytest.approx(150, abs=0.01)
        for event in (begin, end):
            assert any(first <= event["ts"] < last for first, last in by_track[event["pid"], event["tid"]])
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {"rank 3", "compute", "communication"}


def test_timeline_of_traces_without_times(tmp_path: Path) -> None:
    trace = training(0)
    trace.duration_ns[:] = 0
    trace.duration_us[:] = 0
    write_trace(tmp_path / "trace.0.et", trace)
    done = hocket("timeline", tmp_path / "trace.0.et", "-o", tmp_path / "t.json.gz")
    assert (done.returncode, "no measured times" in done.stderr) == (3, True)
    assert not (tmp_path / "t.json.gz").exists()


def generated(folder: Path) -> Path:
    """A step of four stages of a pipeline: durations and order, but no times."""
    made = in_process.hocket("generate", "llm", "llama3-8b", "--pp", 4, "--global-batch", 8, "-o", folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_a_timeline_of_generated_traces_without_a_machine_is_refused(tmp_path: Path) -> None:
    done = hocket("timeline", generated(tmp_path / "made"), "-o", tmp_path / "t.json.gz")
    assert done.returncode == 3
    assert "rank 0: all 401 nodes that take time start at 0 us" in done.stderr and "--topology" in done.stderr
    assert not (tmp_path / "t.json.gz").exists()


def test_a_timeline_of_generated_traces_shows_their_times_on_a_machine(tmp_path: Path) -> None:
    job, machine = generated(tmp_path / "made"), "dgx-h100:gpus=4"
    done = hocket("timeline", job, "-t", machine, "-o", tmp_path / "t.json")
    assert (done.returncode, "predicted on dgx-h100:gpus=4" in done.stdout) == (0, True), done.stderr
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    tracks = [event for event in events if event["name"] == "thread_name"]
    assert {(event["pid"], event["args"]["name"]) for event in tracks} >= {(rank, "compute") for rank in range(4)}
    assert len(tracks) < 20
    spans = [event for event in events if event["ph"] == "X" and event["pid"] < 4]
    simulated = in_process.hocket("simulate", job, "-t", machine, "--json", tmp_path / "s.json")
    assert simulated.returncode == 0, simulated.stderr
    time_us = json.loads((tmp_path / "s.json").read_text())["time_ps"] / 1e6
    assert max(span["ts"] + span["dur"] for span in spans) == pytest.approx(time_us, abs=1e-3)
    begins, ends = ({event["id"]: event["ts"] for event in events if event["ph"] == end} for end in "sf")
    assert begins.keys() == ends.keys() and all(begins[number] <= ends[number] for number in begins)


def test_graph(job: Path, tmp_path: Path) -> None:
    trace = read_trace(job / "trace.0.et")
    wanted = {
        (int(dep), int(trace.id[row]))
        for row in range(len(trace))
        for dep in trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]]
    }
    assert hocket("graph", job / "trace.0.et", "-o", tmp_path / "g.graphml").returncode == 0
    graph = ElementTree.parse(tmp_path / "g.graphml").getroot()
    found = [element for element in graph.iter() if element.tag.endswith("}edge")]
    assert {(int(edge.attrib["source"]), int(edge.attrib["target"])) for edge in found} == wanted
    assert hocket("graph", job / "trace.0.et", "-o", tmp_path / "g.dot").returncode == 0
    lines = (tmp_path / "g.dot").read_text().splitlines()
    assert {tuple(map(int, line.strip("; ").split(" -> "))) for line in lines if "->" in line} == wanted
    assert (lines[0], lines[-1]) == ("digraph trace {", "}")
    for arguments, message in [(("g.svg",), "ends in one of"), (("g.dot", "--limit", 3), "hocket trace slice")]:
        done = hocket("graph", job / "trace.0.et", "-o", tmp_path / arguments[0], *arguments[1:])
        assert (done.returncode, message in done.stderr) == (3, True)
    done = hocket("graph", job, "-o", tmp_path / "g.dot")
    assert (done.returncode, "give one file of it" in done.stderr) == (3, True)
