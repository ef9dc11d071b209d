"""Profiles of one rank, after what AMD's, DeepSeek's, vLLM's and older ones of PyTorch have in them."""

import json
from pathlib import Path
from typing import Any

import in_process
import pytest
from import_commands import communication, errors_in, hocket
from kineto_profiles import kineto, launched, recorded, span

from hocket.chakra import NodeType, Trace, read_trace, read_traces
from hocket.chakra.losses import Loss, Lost, communication_lost, losses_of
from hocket.chakra.validate import validate


def simulation(folder: Path, *options: str) -> Any:
    return in_process.hocket("simulate", folder, "-t", "ring:2,bandwidth=50GB/s,latency=500ns", *options)


COPY = span("gpu_memcpy", "Memcpy HtoD", 1, 1, 107, stream=7, correlation=99)


def write(
    folder: Path, events: list[dict[str, Any]], world: int = 4, groups: dict[str, list[int]] | None = None
) -> Path:
    """Rank 1's profile; without groups as profiles before PyTorch 2.3 are."""
    path = folder / "rank1.json"
    text = json.loads(kineto([COPY, *events], 1, world, groups or {}))
    if groups is None:
        del text["distributedInfo"]["pg_config"]
    path.write_text(json.dumps(text))
    return path


def one(folder: Path, path: Path, *options: str) -> tuple[Trace, str]:
    done = hocket("import", path, *options, "-o", folder / "one")
    assert done.returncode == 0, done.stderr
    return read_trace(folder / "one/trace.1.et"), done.stdout


def test_one_rank_becomes_the_job(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [*recorded("allreduce", 20, 4, 1000, Process_Group_Ranks="[0, 1, 2, 3]", Group_size=4), *_kernel(4, 30)],
    )
    one(tmp_path, path)
    refused = hocket("info", tmp_path / "one")
    assert (refused.returncode, f"hocket trace complete {tmp_path / 'one'} -o" in refused.stderr) == (3, True)
    done = hocket("complete", tmp_path / "one", "-o", tmp_path / "job")
    assert done.returncode == 0, done.stderr
    assert "assumed: ranks [0, 2, 3] as rank 1" in done.stdout
    job = read_traces(tmp_path / "job")
    assert errors_in(validate(job)) == []
    assert [communication(trace) for trace in job.traces] == [{("all_reduce", 4000): 1}] * 4
    # What was recorded stays with the collective, for whoever compares it with a prediction.
    assert all(40_000 in trace.duration_ns for trace in job.traces)


def _kernel(number: int, begin: float, name: str = "ncclDevKernel_Generic") -> list[dict[str, Any]]:
    return launched(name, begin, begin - 5, 40, 40, number)


def test_attributes_that_nobody_needs(tmp_path: Path) -> None:
    copy = span("gpu_memcpy", "CopyHostToDevice", 5, 2, 107, stream="7", bytes="many", device="0", correlation=98)
    trace, printed = one(tmp_path, write(tmp_path, [copy, *_kernel(4, 30, "sgemm")], groups={"0": [0, 1, 2, 3]}))
    assert "attributes of another type than they should be: passed over" in printed
    assert trace.tensor_bytes.max() < 0


def test_spans_of_nccl_without_calls(tmp_path: Path) -> None:
    old = [
        span("cpu_op", "record_param_comms", 20, 9, External_id=3),
        span("cpu_op", "nccl:all_to_all", 21, 5, External_id=4, Input_Dims=[[4, 8]], Input_type=["float"]),
        span("user_annotation", "nccl:all_to_all", 21, 5, External_id=4),
        *launched("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 40, 24, 30, 21, 1004),
    ]
    trace, printed = one(tmp_path, write(tmp_path, old))
    assert communication(trace) == {("all_to_all", 128): 1}
    assert "all operations taken to be of all ranks" in printed


def test_sizes_that_are_told(tmp_path: Path) -> None:
    unsized = [
        span("cpu_op", "c10d::allreduce_", 20, 9, External_id=3),
        *launched("ncclKernel_AllReduce", 40, 24, 30, 21, 3),
    ]
    refused = hocket("import", write(tmp_path, unsized), "-o", tmp_path / "one")
    assert (refused.returncode, "NO COMMUNICATION IS LEFT" in refused.stderr) == (1, True), refused.stderr
    trace, printed = one(tmp_path, write(tmp_path, unsized), "--accept-losses")
    lost = losses_of(trace.metadata)
    assert {loss: count for loss, count in lost.items() if loss.what.is_communication} == {
        Loss(Lost.COLLECTIVE, "all_reduce", "its size, which was not recorded"): 1
    }
    assert not communication(trace) and "--size all_reduce=BYTES tells it): left out" in printed
    trace, printed = one(tmp_path, write(tmp_path, unsized), "--size", "all_reduce=4MiB")
    assert communication(trace) == {("all_reduce", 4 << 20): 1}
    assert "all_reduce without recorded size: taken to be of 4 MiB, as told" in printed


def test_groups_that_are_told(tmp_path: Path) -> None:
    shapes = {"Input_Dims": [[8, 4], [16, 4], [], []], "Input_type": ["float", "float", "", ""]}
    scatter = [
        span("cpu_op", "c10d::_reduce_scatter_base_", 20, 9, External_id=3, **shapes),
        *launched("ncclKernel_ReduceScatter", 40, 24, 30, 21, 3),
    ]
    _, printed = one(tmp_path, write(tmp_path, scatter), "--accept-losses")
    assert "the sizes show 2 ranks: --group reduce_scatter=SIZE: left out" in printed
    trace, printed = one(tmp_path, write(tmp_path, scatter), "--group", "reduce_scatter=2")
    assert communication(trace) == {("reduce_scatter", 256): 1}
    done = hocket("complete", tmp_path / "one", "-o", tmp_path / "job")
    assert read_traces(tmp_path / "job").groups == {"1": (0, 1), "2": (2, 3)}, done.stderr
    refused = hocket("import", write(tmp_path, scatter), "--group", "reduce_scatter=4", "-o", tmp_path / "no")
    assert (refused.returncode, "the sizes of its tensors show 2 ranks" in refused.stderr) == (3, True)
    refused = hocket("import", write(tmp_path, scatter), "--group", "reduce_scatter=2:3", "-o", tmp_path / "no")
    assert "such groups do not make up the job's 4 ranks" in refused.stderr


def test_kernels_of_deepep(tmp_path: Path) -> None:
    names = ["internode::notify_dispatch<false>", "internode::dispatch<false, 8>", "internode::combine<false, 8>"]
    events = [
        event
        for number, name in enumerate(names, start=10)
        for event in launched(
            f"void deep_ep::{name}(int4*)".replace("deep_ep", "dpsk::ep"), number * 20, 5, 15, 27, number
        )
    ]
    trace, printed = one(tmp_path, write(tmp_path, events, world=8))
    assert not communication(trace)
    assert "DeepEP's dispatch, whose size no profile tells: communication of unknown size at its recorded" in printed
    trace, _ = one(tmp_path, write(tmp_path, events, world=8), "--size", "dispatch=1MiB", "--size", "combine=2MiB")
    assert communication(trace) == {("barrier", 0): 1, ("all_to_all", 1 << 20): 1, ("all_to_all", 2 << 20): 1}


def test_kernels_of_symmetric_memory(tmp_path: Path) -> None:
    shapes = {"Input_Dims": [[1024], [], []], "Input_type": ["c10::BFloat16", "", ""]}
    events = [
        span("cpu_op", "symm_mem::multimem_all_reduce_", 20, 9, External_id=3, **shapes),
        *launched("multimem_all_reduce_kernel", 40, 24, 30, 7, 3),
    ]
    groups = {"0": [0, 1, 2, 3], "1": [1], "3": [0, 1, 2, 3]}
    trace, _ = one(tmp_path, write(tmp_path, events, groups=groups))
    assert communication(trace) == {("all_reduce", 2048): 1}


def test_what_a_kernel_itself_tells(tmp_path: Path) -> None:
    (record,) = recorded("allreduce", 20, 4, 1000, Process_Group_Ranks="[0, 1, 2, 3]", Group_size=4)
    (_, kernel) = _kernel(4, 30)
    kernel["args"] |= {key: value for key, value in record["args"].items() if key != "External id"}
    trace, _ = one(tmp_path, write(tmp_path, [kernel], groups={"0": [0, 1, 2, 3]}))
    assert communication(trace) == {("all_reduce", 4000): 1}


def test_rank_and_world_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [COPY, *_kernel(4, 30, "sgemm")]}))
    done = hocket("import", path, "-o", tmp_path / "one")
    assert "which rank this is: taken to be 0; --rank tells" in done.stdout
    assert "how many ranks the job has: taken to be 1; --world tells" in done.stdout
    refused = hocket("complete", tmp_path / "one", "-o", tmp_path / "job")
    assert (refused.returncode, "nothing tells how many ranks the job has" in refused.stderr) == (2, True)
    done = hocket("import", path, "--rank", "2", "--world", "4", "-o", tmp_path / "two")
    assert read_trace(tmp_path / "two/trace.2.et").metadata["world_size"] == 4, done.stderr
    assert hocket("complete", tmp_path / "two", "-o", tmp_path / "job").returncode == 0
    assert len(read_traces(tmp_path / "job").traces) == 4


def of_unknown_world(folder: Path, rank: int = 0) -> Path:
    """A profile of the host alone that names its rank at most, as PyTorch 1.12 wrote it of NCCL."""
    shapes = {"Input_Dims": [[8, 1024]], "Input_type": ["float"]}
    events = [
        span("cpu_op", "record_param_comms", 20, 9, External_id=3),
        span("user_annotation", "nccl:all_to_all", 21, 5, External_id=4, **shapes),
        span("cpu_op", "aten::mm", 40, 9, External_id=5),
    ]
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))
    return path


@pytest.mark.parametrize("rank", [0, 3])
def test_collectives_of_a_world_that_nobody_tells_are_lost(tmp_path: Path, rank: int) -> None:
    path = of_unknown_world(tmp_path, rank)
    done = hocket("import", path, "-o", tmp_path / "one")
    reason = "its group and how many ranks the job has, which no file tells"
    assert (done.returncode, reason in done.stderr, "(--world N tells): left out" in done.stdout) == (1, True, True)
    trace = read_trace(tmp_path / f"one/trace.{rank}.et")
    assert not communication(trace)
    assert losses_of(trace.metadata) == {Loss(Lost.COLLECTIVE, "all_to_all", reason): 1}
    assert hocket("validate", tmp_path / f"one/trace.{rank}.et").returncode == 1
    if rank == 0:
        simulated = simulation(tmp_path / "one")
        assert (simulated.returncode, "NO COMMUNICATION IS LEFT" in simulated.stderr) == (1, True)
        assert simulation(tmp_path / "one", "--accept-losses").returncode == 0
    done = hocket("import", path, "--world", "4", "-o", tmp_path / "told")
    assert done.returncode == 0, done.stderr
    assert communication(read_trace(tmp_path / f"told/trace.{rank}.et")) == {("all_to_all", 4 * 8 * 1024): 1}


def test_a_group_of_a_world_that_nobody_tells_is_refused(tmp_path: Path) -> None:
    for option in ("--group", "all_to_all=2"), ("--size", "dispatch=1MiB"):
        refused = hocket("import", of_unknown_world(tmp_path), *option, "-o", tmp_path / "one")
        assert (refused.returncode, "no file tells: say it with --world" in refused.stderr) == (3, True), refused.stderr


def test_files_of_all_ranks_from_0_on_are_a_whole_world(tmp_path: Path) -> None:
    paths = [of_unknown_world(tmp_path, rank) for rank in range(2)]
    done = hocket("import", *paths, "-o", tmp_path / "job")
    assert (done.returncode, "how many ranks the job has: taken to be 2; --world tells" in done.stdout) == (0, True)
    checked = hocket("validate", tmp_path / "job")
    assert (checked.returncode, "taken to be 2" in checked.stdout) == (0, True), checked.stdout


def test_collectives_of_one_rank_need_no_size(tmp_path: Path) -> None:
    """As those of MTIA are, whose backend records none."""
    unsized = [span("cpu_op", "c10d::allgather_", 20, 9, External_id=3)]
    path = tmp_path / "rank0.json"
    path.write_text(kineto([span("cpu_op", "aten::mm", 1, 9), *unsized], 0, 1, {"0": [0]}))
    done = hocket("import", path, "-o", tmp_path / "one")
    assert (done.returncode, "all_gather of a group of one rank, whose size was not" in done.stdout) == (0, True)
    lost = losses_of(read_trace(tmp_path / "one/trace.0.et").metadata)
    assert lost[Loss(Lost.NODE, "all_gather", "of a group of one rank, which moves nothing")] == 1
    assert communication_lost(lost) == 0


@pytest.mark.parametrize(
    ("events", "options", "message"),
    [
        ([*launched("sgemm", 4e9, 5, 1, 7, 3)], [], "hours after all before it on the device"),
        ([span("cpu_op", "aten::mm", ts, 5) for ts in (1, 5e9)], [], "hours after all before it on the host"),
        ([], ["--world", "2"], "of a job of 4 ranks, --world says 2: drop --world"),
        ([], ["--world", "8"], "of a job of 4 ranks, --world says 8: drop --world"),
        ([], ["--size", "allreduce=1MiB"], "--size allreduce: no such choice"),
        ([], ["--group", "all_reduce=x"], "expected a number of ranks, such as 8, or 2:8"),
    ],
)
def test_refusals(tmp_path: Path, events: list[dict[str, Any]], options: list[str], message: str) -> None:
    refused = hocket("import", write(tmp_path, events), *options, "-o", tmp_path / "one")
    assert refused.returncode in (2, 3) and message in refused.stderr, refused.stderr


def test_a_number_in_the_name_of_one_file_is_its_rank_only_where_names_end_so(tmp_path: Path) -> None:
    text = json.dumps({"schemaVersion": 1, "traceEvents": [COPY, *_kernel(4, 30, "sgemm")]})
    for name, rank in (("nsfw__1016002.json", 0), ("mi250_ROCm6_2_kineto.json", 0), ("device.3.json", 3)):
        (tmp_path / name).write_text(text)
        done = hocket("import", tmp_path / name, "-o", tmp_path / "one")
        assert ("which rank this is: taken to be 0; --rank tells" in done.stdout) == (rank == 0)
        assert (tmp_path / f"one/trace.{rank}.et").is_file()


def test_jobs_of_two_sizes(tmp_path: Path) -> None:
    write(tmp_path, []).rename(tmp_path / "a.json")
    (tmp_path / "b.json").write_text(kineto([COPY], 0, 2, {"0": [0, 1]}))
    refused = hocket("import", tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "one")
    assert "of a job of 4 ranks, but" in refused.stderr


def test_negative_durations(tmp_path: Path) -> None:
    trace, printed = one(tmp_path, write(tmp_path, launched("sgemm", 40, 24, -30, 7, 3)))
    assert "events that end before they begin: taken to last no time" in printed
    assert int(trace.duration_ns[trace.type == NodeType.COMP].max()) >= 0


@pytest.mark.parametrize(
    ("tells_rank", "told", "said"),
    [
        (True, 2, "of rank 1, --rank says 2: drop --rank"),
        (False, 9, "of a job of 4 ranks, --rank says 9: the last is 3"),
    ],
)
def test_a_rank_that_the_file_contradicts_is_refused(tmp_path: Path, tells_rank: bool, told: int, said: str) -> None:
    path = write(tmp_path, _kernel(4, 30, "sgemm"), groups={"0": [0, 1, 2, 3]})
    if not tells_rank:
        text = json.loads(path.read_text())
        del text["distributedInfo"]["rank"]
        path.write_text(json.dumps(text))
    refused = hocket("import", path, "--rank", told, "-o", tmp_path / "one")
    assert (refused.returncode, f"{path}: {said}" in refused.stderr) == (3, True), refused.stderr
    assert not (tmp_path / "one").exists()


def test_a_file_in_which_nothing_is_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rank0.json"
    path.write_text('{"traceEvents": []}')
    refused = hocket("import", path, "-o", tmp_path / "one")
    assert (refused.returncode, f"{path}: nothing to import: " in refused.stderr) == (3, True), refused.stderr
    assert not (tmp_path / "one").exists()
