"""`hocket nccl run-stock` on what cannot be run: one clear error each, before anything is built."""

from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ExitCode
from hocket.nccl.stock.job import Mode, sweep

VERSION = "NCCL_MAJOR := {}\nNCCL_MINOR := {}\nNCCL_PATCH := 3\nNCCL_SUFFIX :=\n"


def checkout(folder: Path, major: int, minor: int, library: str = "NCCL") -> Path:
    (folder / "makefiles").mkdir(parents=True)
    (folder / "src").mkdir()
    if library == "RCCL":
        (folder / "src" / "rccl_wrap.cc").touch()
    (folder / "makefiles" / "version.mk").write_text(VERSION.format(major, minor))
    return folder


def test_a_folder_without_sources_is_refused(tmp_path: Path) -> None:
    done = hocket("nccl", "run-stock", "-t", "dgx-h100", "--source", str(tmp_path), "-o", str(tmp_path / "out"))
    assert done.returncode == ExitCode.BAD_INPUT
    assert f"{tmp_path} holds no sources of NCCL or RCCL (makefiles/version.mk)" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_release_before_those_that_can_be_run_is_refused(tmp_path: Path) -> None:
    old = checkout(tmp_path / "old", 2, 21)
    done = hocket("nccl", "run-stock", "-t", "dgx-h100", "--source", str(old), "-o", str(tmp_path / "out"))
    assert done.returncode == ExitCode.BAD_INPUT
    assert "is NCCL 2.21.3: 2.27 or newer is run" in done.stderr


def test_cuda_headers_are_asked_for(tmp_path: Path) -> None:
    source = checkout(tmp_path / "nccl", 2, 30)
    arguments = ["-t", "dgx-h100", "--source", str(source), "-o", str(tmp_path / "out"), "--cuda", str(tmp_path)]
    done = hocket("nccl", "run-stock", *arguments)
    assert done.returncode == 3
    assert "'nvidia-cuda-cccl>=13', or --cuda DIR" in done.stderr


def test_rocm_headers_are_asked_for(tmp_path: Path) -> None:
    source = checkout(tmp_path / "rccl", 2, 28, "RCCL")
    arguments = ["-t", "mi300x", "--source", str(source), "-o", str(tmp_path / "out"), "--rocm", str(tmp_path)]
    done = hocket("nccl", "run-stock", *arguments)
    assert done.returncode == 3
    assert "pip install triton" in done.stderr and "--rocm DIR" in done.stderr


@pytest.mark.parametrize(
    ("library", "arguments", "said"),
    [
        ("NCCL", ["-t", "mi300x"], "its library is RCCL, and --source"),
        ("RCCL", ["-t", "dgx-h100"], "its library is NCCL, and --source"),
        ("RCCL", ["-t", "mi300x", "--do", "move"], "--do move: RCCL's kernels have no stand-in"),
        ("RCCL", ["-t", "mi300x", "--do", "enqueue"], "--do choose"),
        ("RCCL", ["-t", "mi300x", "--profile"], "--profile is of NCCL"),
    ],
)
def test_what_does_not_go_together_is_named(tmp_path: Path, library: str, arguments: list[str], said: str) -> None:
    source = checkout(tmp_path / "source", 2, 28, library)
    done = hocket("nccl", "run-stock", *arguments, "--source", str(source), "-o", str(tmp_path / "out"))
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-c", "all_scatter"], "all_scatter"),
        (["--do", "dance"], "dance"),
        (["--set", "NCCL_ALGO"], "NAME=VALUE"),
        (["--type", "float8"], "float8"),
        (["--op", "xor"], "xor"),
        (["--min", "1KiB", "--max", "8"], "1KiB"),
        (["-o", "{full}"], "is not empty"),
        (["--nodes", "2", "--machine", "a.xml"], "--nodes 2 and 1 of --machine"),
    ],
)
def test_bad_requests_are_named(tmp_path: Path, arguments: list[str], said: str) -> None:
    source = checkout(tmp_path / "nccl", 2, 30)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    headers = tmp_path / "cuda"
    (headers / "crt").mkdir(parents=True)
    (headers / "crt" / "host_defines.h").touch()
    (headers / "cuda_runtime_api.h").write_text("#define CUDART_VERSION  13020\n")
    given = [argument.format(full=tmp_path / "full") for argument in arguments]
    given += [] if "-o" in given else ["-o", str(tmp_path / "out")]
    base = ["nccl", "run-stock", "-t", "dgx-h100", "--source", str(source), "--cuda", str(headers)]
    done = hocket(*base, *given)
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert said in done.stderr


def test_a_sweep_gives_each_rank_whole_elements() -> None:
    job = sweep([8, 8], ["all_reduce", "all_gather"], [1, 8, 100, 1000], type="bfloat16", mode=Mode.MOVE)
    assert [(call.kind, call.size_bytes) for call in job.calls] == [
        ("all_reduce", 8),
        ("all_reduce", 100),
        ("all_reduce", 1000),
        ("all_gather", 96),
        ("all_gather", 992),
    ]
    assert job.notes == (
        "all_reduce: 1 B not run: less than an element (bfloat16)",
        "all_gather: 1 B, 8 B not run: less than an element (bfloat16) of each rank",
    )
    assert job.text().splitlines()[:4] == [
        "hosts 8 8",
        "limit_s 120",
        "mode move",
        "call all_reduce world 8 bfloat16 sum 0 0",
    ]
