"""Standard output that is full, closed or left by its reader, and results that go there alone."""

import json
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from in_process import hocket

TOPOLOGY = "ring:4,bandwidth=50GB/s,latency=500ns"
TRACES = Path(__file__).parents[2] / "examples" / "traces"
HOCKET = f"{sys.executable} -m hocket"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    made = shell(f"{HOCKET} synthesize all_reduce -t {TOPOLOGY} --size 64KiB -o ar.schedule", folder)
    assert made.returncode == 0, made.stderr
    translated = shell(f"{HOCKET} translate ar.schedule --to executor -o ar.xml", folder)
    assert translated.returncode == 0, translated.stderr
    return folder


def shell(line: str, folder: Path, **options: Any) -> CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, **options)


@pytest.mark.parametrize("command", ["verify ar.schedule", "verify ar.xml", f"topology show {TOPOLOGY}"])
@pytest.mark.parametrize(
    ("where", "why"),
    [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
    ids=["full", "closed"],
)
def test_what_cannot_be_said_is_an_error_of_its_own(folder: Path, command: str, where: str, why: str) -> None:
    done = shell(f"{HOCKET} {command} {where}", folder)
    assert done.stderr == f"error: standard output: cannot be written: {why}; choose another place\n"
    assert done.returncode == 3


def test_a_closed_standard_output_that_is_not_needed_is_none(folder: Path, tmp_path: Path) -> None:
    done = shell(f"{HOCKET} topology save {TOPOLOGY} -o {tmp_path}/t.yaml >&- <&-", folder)
    assert (done.returncode, done.stderr) in [(0, ""), (3, f"error: standard output: cannot be written: {EBADF}\n")]
    assert (tmp_path / "t.yaml").read_text().startswith("#") or "bandwidth" in (tmp_path / "t.yaml").read_text()


EBADF = "Bad file descriptor; choose another place"


@pytest.mark.parametrize("where", ["2> /dev/full", "2>&-"])
def test_what_cannot_be_said_on_standard_error_changes_no_exit_code(folder: Path, where: str) -> None:
    assert shell(f"{HOCKET} verify absent.xml {where}", folder).returncode == 3
    assert shell(f"{HOCKET} verify ar.xml {where}", folder).returncode == 0
    assert shell(f"{HOCKET} verify ar.xml --no-such-option {where}", folder).returncode == 2


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    done = shell(f"{HOCKET} topology show torus:8x8x8,bandwidth=1GB/s,latency=1us --json - | head -c 1", folder)
    assert done.returncode == 0 and done.stderr.endswith("wrote -\n")
    done = shell(f"set -o pipefail; {HOCKET} verify ar.xml | true", folder)
    assert done.returncode in (0, 141) and done.stderr == ""


JSON = [
    f"topology show {TOPOLOGY} --json -",
    f"topology show {TOPOLOGY} --json /dev/stdout",
    f"simulate all_reduce -t {TOPOLOGY} --size 1MiB --json -",
    f"simulate all_reduce -t {TOPOLOGY} --size 1MiB --size 2MiB --json -",
    "simulate ar.schedule --json -",
    "simulate ar.schedule --timeline -",
    f"trace timeline {TRACES} -o -",
    f"trace info {TRACES} --json -",
    f"trace diff {TRACES} {TRACES} --json -",
    f"synthesize all_reduce -t {TOPOLOGY} --size 1KiB --json -",
    "verify ar.xml --json=-",
    "compare one.json one.json --json -",
    "explain ar.xml --collective all_reduce --ranks 4 --size 64KiB --runtime executor --in-place --json -",
    "translate ar.schedule --to json -o -",
]


@pytest.mark.parametrize("command", JSON)
def test_results_alone_go_to_standard_output(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not (folder / "one.json").exists():
        assert hocket(*f"simulate all_reduce -t {TOPOLOGY} --size 1MiB --json one.json".split()).returncode == 0
    before = sorted(path.name for path in folder.iterdir())
    done = hocket(*command.split())
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.torch
def test_ranks_that_run_do_not_speak_between_the_results(folder: Path) -> None:
    pytest.importorskip("torch")
    done = shell(f"{HOCKET} run ar.xml --size 64KiB --iters 1 --warmup 0 --json -", folder)
    assert done.returncode == 0 and "busbw" in done.stderr
    json.loads(done.stdout)


def test_a_schedule_goes_through_a_pipe(folder: Path) -> None:
    done = shell(f"{HOCKET} synthesize all_reduce -t {TOPOLOGY} --size 64KiB -o - > piped.schedule", folder)
    assert done.returncode == 0 and "written" in done.stderr
    verified = shell(f"{HOCKET} verify piped.schedule", folder)
    assert verified.returncode == 0 and "all_reduce" in verified.stdout
    assert not list(folder.glob("-*"))


def test_results_are_added_to_a_file_that_is_appended_to(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("kept\n")
    done = shell(f"{HOCKET} topology save {TOPOLOGY} -o /dev/stdout >> {log}", folder)
    assert done.returncode == 0
    assert log.read_text().startswith("kept\n") and len(log.read_text()) > 20


@pytest.mark.parametrize(
    "command",
    [
        "generate collective all_reduce --ranks 4 --size 1MiB",
        f"trace convert {TRACES}",
        f"trace slice {TRACES} --ranks 1",
        f"trace anonymize {TRACES}",
        f"trace merge {TRACES}",
        f"simulate {TRACES} -t {TOPOLOGY} --tables=-",
    ],
)
def test_what_writes_a_folder_refuses_standard_output(command: str, tmp_path: Path) -> None:
    done = hocket(*command.split(), *(() if "--tables" in command else ("-o", "-")), cwd=tmp_path)
    assert done.returncode == 3 and "standard output is no folder" in done.stderr, done.stderr
    assert not [*tmp_path.iterdir()]
