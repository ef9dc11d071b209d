"""What the commands of the translator say of a slip: the option or folder by name, and what to do."""

import subprocess
import sys
from pathlib import Path

import pytest
from in_process import hocket
from programs import greedy_schedule

from hocket.schedule import Kind, save
from hocket.translator.bundle import write_bundle

DATA = Path(__file__).parents[2] / "data" / "msccl_xml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule, alone in `schedules`, and its bundle for executor."""
    made = tmp_path_factory.mktemp("messages")
    (made / "schedules").mkdir()
    (made / "empty").mkdir()
    path = made / "schedules" / "ar.schedule"
    save(greedy_schedule(Kind.ALL_REDUCE, 4, 2, seed=7), path)
    write_bundle([path], made / "bundle", "executor")
    return made


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--slots", 3), "--slots 3: connections of Simple hold 2 messages"),
        (("--min-bytes", "2MiB", "--max-bytes", "1MiB"), "--min-bytes 2MiB is above --max-bytes 1MiB"),
        (("--max-bytes", "lots"), "--max-bytes: 'lots' is not a size such as 64MiB"),
        (("--protocol", "ll"), "did you mean 'LL'?"),
    ],
)
def test_a_bad_value_is_a_usage_error(folder: Path, options: tuple[object, ...], told: str) -> None:
    file = folder / "schedules" / "ar.schedule"
    done = hocket("translate", file, "--to", "executor", "-o", folder / "x.xml", *options)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("verify", "bundle"), "bundle: a folder; verify its programs one by one: for file in"),
        (("run", "bundle"), "a folder; a bundle is hocket run --bundle"),
        (("explain", "bundle", "mscclpp"), "the bundle is for executor: --runtime executor"),
        (("explain", "empty", "executor"), "empty: no XML in it"),
        (("explain", "empty", "mscclpp"), "empty: no plan (.json) in it"),
        (("explain", "schedules", "executor"), "schedules: no XML in it"),
    ],
)
def test_a_folder_is_told_what_it_is(folder: Path, command: tuple[str, ...], told: str) -> None:
    verb, name, *runtime = command
    call = ("-c", "all_reduce", "-s", "1MiB", "-n", 4, "--runtime", *runtime) if runtime else ()
    done = hocket(verb, folder / name, *call)
    assert (done.returncode, told in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize(("short", "name"), [("fp16", "float16"), ("bf16", "bfloat16"), ("float16", "float16")])
def test_short_names_of_data_types(folder: Path, short: str, name: str) -> None:
    call = ("-c", "all_reduce", "-s", "1KiB", "-n", 4, "--runtime", "executor", "--dtype", short)
    assert f"1 KiB of {name} on 4 ranks" in hocket("explain", folder / "bundle", *call).stdout


def test_a_window_without_sizes_is_told(tmp_path: Path) -> None:
    """maxBytes 0 selects no call for microsoft/msccl."""
    source = DATA / "broadcast_binomial_8.xml"
    command = ("translate", source, "--from", "msccl", "--to", "executor", "-o", tmp_path / "out.xml")
    done = hocket(*command)
    assert (done.returncode, "its maxBytes selects no call; give --max-bytes" in done.stderr) == (3, True)
    assert hocket(*command, "--max-bytes", "1MiB").returncode == 0


def test_ranks_that_a_program_leaves_idle_are_told() -> None:
    topology = "ring:16,bandwidth=50GB/s,latency=500ns"
    done = hocket("simulate", DATA / "broadcast_binomial_8.xml", "--topology", topology, "--size", "1MiB")
    assert done.returncode == 0, done.stderr
    assert "is for 8 ranks: it runs on ranks 0 to 7 of the 16 of ring:16" in done.stderr


def test_sizes_at_which_no_runtime_would_run_a_program_are_told(tmp_path: Path) -> None:
    file = tmp_path / "small.xml"
    text = (DATA / "all_reduce_all_pairs_4.xml").read_text()
    file.write_text(text.replace("<algo ", '<algo minBytes="0" maxBytes="65536" runtime="msccl" ', 1))
    topology = "switch:4,bandwidth=50GB/s,latency=500ns"
    said = "is for calls of 0 B to 65535 B alone (minBytes, maxBytes): at 1 MiB a runtime would not run it"
    for sizes in ("1MiB", "32KiB..1MiB:32"):
        done = hocket("simulate", file, "-t", topology, "-s", sizes)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout + done.stderr
    assert "executor" not in hocket("simulate", file, "-t", topology, "-s", "1MiB").stdout
    assert "would not run" not in hocket("simulate", file, "-t", topology, "-s", "32KiB").stdout


def test_a_reader_that_has_seen_enough_fails_no_check() -> None:
    """The reader is gone before the first byte: 128 and SIGPIPE's 13, as of every program in a pipe."""
    command = [sys.executable, "-m", "hocket", "verify", str(DATA / "broadcast_binomial_8.xml"), "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 128 + 13


def test_schedules_in_which_switches_of_the_fabric_add_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.schedule"
    machine = ("-t", "dgx-h100:nodes=2,gpus=2,sharp=1", "-s", "1KiB")
    made = hocket("synthesize", "all_reduce", *machine, "--engine", "native:switch_tree", "-o", path)
    assert made.returncode == 0, made.stderr
    done = hocket("translate", path, "--to", "executor", "-o", tmp_path / "x.xml")
    assert (done.returncode, "lets switches of dgx-h100" in done.stderr) == (3, True), done.stderr
