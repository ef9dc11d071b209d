"""Ways into the collector and out of it: launch lines, crashes, signals, exit codes, bad options."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import streams

from hocket.base.errors import FormatError
from hocket.recording.settings import Settings

pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_ddp.py"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

ONE_RANK = """
import pickle, sys
import torch, torch.distributed as dist
import beside
class Local: pass
assert pickle.loads(pickle.dumps(Local())).__class__ is Local
assert sys.argv[1:] == ["--flag", "value"], sys.argv
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(25))
{end}
"""

TWO_RANKS = """
import os, signal, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
for step in range(6):
    dist.all_reduce(torch.ones(25))
    if step == 3 and dist.get_rank() == 1:
        {end}
"""


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch")


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=200)


def merge(folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "hocket", "collect", "merge", str(folder)])


def kinds(stream: Path) -> list[str]:
    """Of its lines, but for what depends on the PyTorch and the hook that are installed."""
    return [record["k"] for record in streams.read(stream) if record["k"] not in ("nccl", "cost")]


def test_an_unmodified_launch_line_is_collected_by_a_variable(tmp_path: Path) -> None:
    variables = {"HOCKET_COLLECT": str(tmp_path), "HOCKET_COLLECT_SKIP_STEPS": "2", "HOCKET_COLLECT_STEPS": "1"}
    bare = run([*TORCHRUN, str(EXAMPLE), "--steps", "4"])
    collected = run([*TORCHRUN, str(EXAMPLE), "--steps", "4"], **variables)
    assert collected.returncode == 0, collected.stderr
    assert bare.stdout  # the collector changes no value
    assert collected.stdout.startswith(bare.stdout)

    # torchrun's own process imports torch as well, and leaves nothing.
    assert sorted(path.name for path in (streams.job(tmp_path) / "stream").iterdir()) == [
        "rank0.stream",
        "rank1.stream",
    ]
    summary = json.loads((streams.job(tmp_path) / "summary.json").read_text())
    assert summary["steps"] == 1
    assert summary["mismatches"] == []
    # One step: the gradients' buckets, and the mean of the loss; the parameters are 4 bytes each.
    layer = 12 * 256**2 + 13 * 256
    parameters = 96 * 256 + 32 * 256 + 3 * layer + 256 * 96 + 96
    assert [row["kind"] for row in summary["kinds"]] == ["all_reduce"]
    assert summary["kinds"][0]["bytes_total"] == 4 * parameters + 4


@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(7)", 7), ("raise RuntimeError('broken')", 1)])
def test_a_script_runs_as_by_itself(tmp_path: Path, end: str, code: int) -> None:
    (tmp_path / "script.py").write_text(ONE_RANK.format(end=end))
    (tmp_path / "beside.py").write_text("")
    out = tmp_path / "out"
    script = [str(tmp_path / "script.py"), "--flag", "value"]
    finished = run([sys.executable, "-m", "hocket.collect", "--out", str(out), *script])
    assert finished.returncode == code, finished.stderr
    assert kinds(streams.job(out) / "stream" / "rank0.stream") == ["meta", "group", "shape", "c", "w", "cores", "end"]
    if code == 1:
        assert "RuntimeError: broken" in finished.stderr
        assert f"hocket collect merge {streams.job(out)}" in finished.stderr
        assert "unended: rank 0" in merge(out).stdout
    assert (streams.job(out) / "trace.0.et").stat().st_size > 0


@pytest.mark.parametrize("end", ["raise RuntimeError('broken')", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_dying_job_recorded_is_kept(tmp_path: Path, end: str) -> None:
    (tmp_path / "script.py").write_text(TWO_RANKS.format(end=end))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hocket", "collect", "--out", str(out), "-n", "2", "--timeout", "5"]
    assert run([*command, str(tmp_path / "script.py")]).returncode == 1

    assert kinds(streams.job(out) / "stream" / "rank1.stream").count("c") == 4
    merged = merge(out)
    assert merged.returncode == 0, merged.stderr
    assert "unended: rank 1" in merged.stdout
    assert (streams.job(out) / "trace.0.et").exists()
    assert (streams.job(out) / "trace.1.et").exists()
    summary = json.loads((streams.job(out) / "summary.json").read_text())
    assert [rank["operations"] for rank in summary["ranks"]][1] == 4
    assert 1 in summary["unended"]


def test_every_option_is_a_variable_too() -> None:
    settings = Settings("out", skip_steps=2, steps=3, timeout=4)
    assert Settings.from_environment(settings.to_environment()) == settings
    assert Settings.from_environment({"HOCKET_COLLECT": "out"}) == Settings("out")
    assert Settings.from_environment({}) is None
    with pytest.raises(FormatError, match="HOCKET_COLLECT_STEPS: '0' is not a whole number of at least 1"):
        Settings.from_environment({"HOCKET_COLLECT": "out", "HOCKET_COLLECT_STEPS": "0"})


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--out", "x", "absent.py"], 3, "error: absent.py: no such script"),
        (["train.py"], 2, "--out"),
        (["--out", "x", "--steps", "none", "train.py"], 2, "--steps"),
    ],
)
def test_bad_options_are_named(arguments: list[str], code: int, message: str) -> None:
    finished = run([sys.executable, "-m", "hocket.collect", *arguments])
    assert finished.returncode == code
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr


def test_without_torch_it_says_so(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['torch'] = None; from hocket.collect import main; main(['--out', 'x', 'y.py'])"
    finished = run([sys.executable, "-c", hidden])
    assert finished.returncode == 3
    assert "pip install 'torch>=2.4'" in finished.stderr


def test_a_job_without_collectives_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text("print('done')")
    command = [sys.executable, "-m", "hocket", "collect", "--out", "traces", "-n", "1", "silent.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3, done.stderr
    assert "done" in done.stdout
    assert "rank 0 issued no collective" in done.stderr  # what other launchers' jobs say
    assert "error: traces: nothing was recorded: no rank issued a collective; does the script call" in done.stderr


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "script.py").write_text("import torch; print('trained')")
    command = [sys.executable, "-m", "hocket.collect", "--out", str(tmp_path / "file"), f"{tmp_path}/script.py"]
    told = f"{tmp_path}/file: cannot collect into this folder: File exists"
    finished = run(command)  # one of many processes: the job goes on
    assert (finished.returncode, finished.stdout) == (0, "trained\n")
    assert f"hocket: nothing is collected: {told}" in finished.stderr
    launched = run([sys.executable, "-m", "hocket", "collect", *command[3:]])  # before the job: it need not begin
    assert (launched.returncode, launched.stdout) == (3, "")
    assert f"error: {told}" in launched.stderr
