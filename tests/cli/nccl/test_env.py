"""`hocket nccl env`: what a shell evaluates makes NCCL find plugins, folder and table."""

import subprocess
from functools import partial
from pathlib import Path

import in_process

from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path

env = partial(in_process.hocket, "nccl", "env")


def test_a_shell_that_evaluates_it_has_the_plugins_and_absolute_paths(tmp_path: Path) -> None:
    (tmp_path / "my table.csv").write_text("allreduce,0,-1,ring,ll,-1,-1,-1\n")
    printed = env("--profile", "profile", "--kernels", "--table", "my table.csv", cwd=tmp_path)
    assert printed.returncode == 0, printed.stderr
    script = f"{printed.stdout}\nenv -0"
    shell = subprocess.run(["sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    variables = dict(entry.split("=", 1) for entry in shell.stdout.split("\0") if "=" in entry)
    assert {name: value for name, value in variables.items() if "NCCL" in name} == {
        "NCCL_PROFILER_PLUGIN": str(nccl_profiler_path()),
        "HOCKET_NCCL_PROFILE": str(tmp_path / "profile"),
        "HOCKET_NCCL_EVENTS": "collective,p2p,kernel_channel",
        "NCCL_TUNER_PLUGIN": str(nccl_tuner_path()),
        "HOCKET_NCCL_TUNER_TABLE": str(tmp_path / "my table.csv"),
    }


def test_a_table_that_the_plugin_would_refuse_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("allreduce,0,-1,rink,ll,-1,-1,-1\n")
    printed = env("--table", "table.csv", cwd=tmp_path)
    assert printed.returncode == 3 and "table.csv:1" in printed.stderr and not printed.stdout


def test_nothing_asked_for_is_an_error_of_usage(tmp_path: Path) -> None:
    assert env(cwd=tmp_path).returncode == env("--kernels", cwd=tmp_path).returncode == 2
