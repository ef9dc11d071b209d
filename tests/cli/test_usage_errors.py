"""Options that name something: an unknown name is a usage error that lists the known ones; absent things are not."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.api.explain.request import Explanation


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "translate x.schedule --to nccl -o x.xml",
            "--to nccl: no such choice; stock NCCL loads no programs: executor and msccl are forks of it that do,"
            " device serves them to PyTorch on stock NCCL; known: chakra, device, executor, json, msccl, mscclpp,"
            " nccl-graph, rccl, schedule, table",
        ),
        (
            "synthesize all_gather -t ring:4 -s 1MiB --for nccl",
            "--for nccl: no such choice; stock NCCL loads no",
        ),
        (
            "translate x.schedule --to msccl --protocol simple -o x.xml",
            "--protocol simple: no such choice; did you mean 'Simple'? known: LL, LL128, Simple",
        ),
        ("run x.xml --backend nccl", "--transport nccl: no such choice; known: device, gloo, mpi, shm, tcp"),
        (
            "run x.xml --dtype flaot64",
            "--dtype flaot64: no such choice; did you mean 'float64'? known: bfloat16, float16",
        ),
        ("run x.xml --op avg", "--op avg: no such choice; known: max, min, prod, sum"),
        (
            "run x.xml --print nccl",
            "--print nccl: no such choice; stock NCCL loads no programs: executor and msccl are",
        ),
        (
            "verify x.xml --runtime nccl",
            "--runtime nccl: no such choice; stock NCCL loads no programs: executor and msccl are",
        ),
        ("synthesize all_sum -t ring:4 -s 1MiB", "COLLECTIVE all_sum: no such choice; known: all_gather, all_reduce"),
        ("synthesize all_gather -t ring:4 -s 1MiB --engine z3", "--engine z3: no such choice; known: auto"),
        ("generate collective all_sum --ranks 2 --size 1MiB -o t", "KIND all_sum: no such choice; known: all_gather"),
        (
            "simulate all_reduce -t ring:4 -s 1MiB --model exact",
            "--model exact: no such choice; known: analytical, bound",
        ),
        (
            "simulate all_reduce -t ring:4 -s 1MiB --compat astrasim",
            "--compat astrasim: no such choice; did you mean 'astra-sim'?",
        ),
        ("simulat all_reduce", "No such command 'simulat'; did you mean 'simulate'? known: bench, bundle"),
        ("nccl chose", "No such command 'chose'; did you mean 'choose'? known: choose, env, log"),
        ("import x.json -o o", "No such command 'import'; did you mean 'trace import'? known: bench, bundle"),
        ("choose", "No such command 'choose'; did you mean 'nccl choose'? known: bench, bundle"),
        ("show x.yaml", "No such command 'show'; did you mean 'topology show' or 'nccl profile show'? known: bench"),
        (
            "sweep x.yaml --executor slurm",
            "--executor slurm: no such choice; known: dask, local, mpi, processes, serial",
        ),
    ],
)
def test_unknown_names_are_usage_errors_that_list_the_known(tmp_path: Path, arguments: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(
        "{topology: 'ring:4,bandwidth=1GB/s,latency=1us', collective: all_reduce, size: 1}"
    )
    done = hocket(*arguments.split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.split())
    assert arguments.startswith("synthesize") or "custom," not in done.stderr  # elsewhere nobody can say what it is
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


def test_algorithms_that_are_none_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    done = hocket("simulate", "absent/", "-t", "ring:4,bandwidth=1GB/s,latency=1us", "--algorithm", "all_reduce=native")
    assert "all_reduce: 'native' is not an algorithm; known: auto, binary_tree" in done.stderr


def test_collectives_may_be_called_as_others_call_them(tmp_path: Path) -> None:
    asked = {"paths": "x.xml", "size": "1MiB", "ranks": 4, "runtime": "msccl"}
    assert Explanation.of(collective="AllReduce", **asked).collective == "all_reduce"
    written = hocket("nccl", "program", "-t", "dgx-h100", "-c", "allreduce", "-s", "1KiB", "-o", tmp_path / "x.xml")
    assert written.returncode == 0, written.stderr
    made = hocket("synthesize", "alltoall_perf", "-t", "ring:2,bandwidth=1GB/s,latency=1us", "-s", "1KiB")
    assert made.stdout.startswith("all_to_all")
    (tmp_path / "x.yaml").write_text(
        "{topology: 'ring:4,bandwidth=1GB/s,latency=1us', collective: AllReduce, size: 1KiB}"
    )
    done = hocket("sweep", tmp_path / "x.yaml", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr


def test_a_topology_that_is_not_there_is_bad_input_and_one_that_is_wrong_a_failed_check(tmp_path: Path) -> None:
    assert hocket("topology", "check", "absent.yaml", cwd=tmp_path).returncode == 3
    (tmp_path / "wrong.yaml").write_text("ranks: many\n")
    assert hocket("topology", "check", "wrong.yaml", cwd=tmp_path).returncode == 1
    assert hocket("topology", "check", "ring:4,bandwidth=50", cwd=tmp_path).returncode == 1


def test_a_schedule_is_not_run_but_translated_first(tmp_path: Path) -> None:
    done = hocket("run", "ar.schedule", cwd=tmp_path)
    assert done.returncode == 3
    assert "first hocket translate ar.schedule --to executor -o ar.xml" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-bytes", "1KiB", "less than 65536 bytes"),
        ("--windows", "5:100", "--windows: "),
        ("--windows", "9-3", "--windows: "),
        ("--signal", "SIGKILL", "'SIGKILL' is not one of SIGUSR1, SIGUSR2"),
    ],
)
def test_a_collection_that_is_refused_leaves_no_folder(tmp_path: Path, option: str, value: str, said: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "job.py").write_text("")
    refused = hocket("collect", "--out", "traces", option, value, "job.py", cwd=tmp_path)
    assert (refused.returncode, said in " ".join(refused.stderr.split())) == (2, True), refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["job.py"]
