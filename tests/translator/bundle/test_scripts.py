"""The scripts of bundles: what they run, and that they fail where a log proves nothing."""

import os
import subprocess
from pathlib import Path

import pytest
from bundles import RUNTIMES
from in_process import hocket

from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering
from hocket.translator.bundle import write_bundle

LOGS = {
    "msccl": ["MSCCL: Parsing algorithm", "Parsed MSCCL Algorithm x successfully", "Connected 4 MSCCL algorithms"],
    "executor": ["Using MSCCL Algo files from x", "MSCCL: Initialization finished", "MSCCL: Setup Kernel finished"],
    "rccl": ["Using MSCCL files from x", "MSCCL: Initialization finished", "MSCCL: typeMask 1 Setup Kernel finished"],
}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_script_fails_unless_the_log_proves_it(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    bundle = write_bundle(schedules, tmp_path / "b", runtime).bundle
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("mpirun", "torchrun"):
        (tools / name).write_text(f'#!/bin/sh\necho "ran {name} $*" >> "$CALLS"\nenv >> "$CALLS"\nprintf "$FAKE_LOG"\n')
        (tools / name).chmod(0o755)
    calls = tmp_path / "calls"

    def run(log: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        calls.write_text("")
        settings = {"PATH": f"{tools}:{os.environ['PATH']}", "MSCCL": "/built", "ROCM": "/built", "CALLS": str(calls)}
        return subprocess.run(
            [tmp_path / "b" / "run.sh", *arguments],
            env={**settings, "FAKE_LOG": "\\n".join(log)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run(LOGS[runtime])
    assert done.returncode == 0, done.stderr
    # msccl's lines are printed when programs are loaded; the others have one of a launch
    assert ("LOADED:" in done.stdout, "USED:" in done.stdout) == (runtime == "msccl", runtime != "msccl")
    assert "=()" not in (tmp_path / "b" / "run.sh").read_text()  # bash before 4.4 calls an empty array unset
    made = [line for line in calls.read_text().splitlines() if line.startswith("ran mpirun -np 4 env ")]
    assert len(made) == (tmp_path / "b" / "run.sh").read_text().count("\nmeasure ")
    for file in bundle.files:
        # chunks of 16 bytes: the last size of each window is measured
        last = file.max_bytes // 64 * 64
        assert any(f"-e {last} -f 2" in line and (last & (last - 1) == 0 or f"-b {last}" in line) for line in made)
    assert all(f"{'/b/algorithms' if runtime != 'msccl' else bundle.files[0].path}" in line for line in made)
    assert "all_reduce_perf -b 64 -e" in made[0]  # 4 chunks of 16 bytes
    for missing in LOGS[runtime]:
        done = run([line for line in LOGS[runtime] if line != missing])
        assert done.returncode == 1
        assert "NOT USED: no line" in done.stderr
    done = run(LOGS[runtime], "torchrun", "--nproc-per-node", "4", "train.py")
    assert done.returncode == 0, done.stderr
    assert "ran torchrun --nproc-per-node 4 train.py" in calls.read_text()
    assert "LD_PRELOAD=/built/" in calls.read_text()
    assert run([], "torchrun", "train.py").returncode == 1
    if runtime == "msccl":
        done = run([*LOGS[runtime], "file x failed to initialize. Will be ignored"])
        assert (done.returncode, "NOT USED: a program was refused: file x" in done.stderr) == (1, True)


@pytest.mark.parametrize("runtime", [*RUNTIMES, "mscclpp"])
def test_a_bundle_of_several_machines(tmp_path: Path, runtime: str) -> None:
    network = load("dgx-h100:nodes=2,gpus=2")
    path = tmp_path / "ring.schedule"
    save(retime(build("ring", Collective(Kind.ALL_REDUCE, 4, 1 << 20, 1), network)), path)
    bundle = write_bundle([path], tmp_path / "b", runtime, Lowering(in_place=True)).bundle
    assert (bundle.nodes, bundle.ranks_per_node) == (2, 2)
    job, hosts = "torchrun --nnodes 2 --nproc-per-node 2 --rdzv", "-H HOST0:2,HOST1:2"
    for name in ("README.md", "run.sh"):
        text = (tmp_path / "b" / name).read_text()
        assert job in text
        assert hosts in text
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "env"):
        (tools / tool).symlink_to(Path("/usr/bin") / tool)

    def run(**settings: str) -> str:
        variables = {"PATH": str(tools), "MSCCL": "/built", "ROCM": "/built", "MSCCLPP": "/built", **settings}
        command = [tmp_path / "b" / "run.sh"]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "mpirun is not on PATH: install" in run()
    (tools / "mpirun").write_text('#!/bin/bash\necho "started $*" >&2\nexit 1\n')
    (tools / "mpirun").chmod(0o755)
    (tools / "tee").symlink_to("/usr/bin/tee")
    assert "MPIRUN_OPTIONS: 2 machines: set it to -H HOST0:2,HOST1:2" in run()
    run(MPIRUN_OPTIONS=hosts)
    assert any(f"started -np 4 {hosts} env" in log.read_text() for log in tmp_path.glob("hocket-run.*.log"))
    done = hocket("translate", path, "--to", runtime, "-o", tmp_path / "ring.out", "--max-bytes", "1MiB")
    assert hosts in done.stdout
    assert "mpirun -np 4 $MPIRUN_OPTIONS" in done.stdout
