"""`hocket explain`: which file a runtime would run, and why not each other one."""

import json
from functools import partial
from pathlib import Path

import pytest
from in_process import hocket

from hocket.schedule import Kind
from hocket.translator.selection.msccl import RuntimeCall, files_in_order, select

TEXT = (Path(__file__).parents[2] / "data" / "msccl_xml" / "all_reduce_all_pairs_4.xml").read_text()
HEAD = 'nchunksperloop="4" ngpus="4" coll="allreduce" inplace="0"'


def write(folder: Path, name: str, window: tuple[int, int], **changes: str) -> None:
    """The 4-rank out-of-place all_reduce of 4 chunks, for sizes of a window."""
    head = f'{HEAD} outofplace="1" minBytes="{window[0]}" maxBytes="{window[1]}"'
    for key, value in changes.items():
        head = head.replace(f'{key}="', f'{key}="{value}" was="')
    (folder / name).write_text(TEXT.replace(HEAD, head, 1))


def reasons(folder: Path, runtime: str, size: int = 4096, *, in_place: bool = False, ranks: int = 4) -> dict[str, str]:
    call = RuntimeCall(Kind.ALL_REDUCE, size, "float16", ranks, in_place)
    found = select(sorted(files_in_order(folder, runtime)), call, runtime)
    return {choice.path.name: "runs" if choice.runs else choice.reason for choice in found.choices}


@pytest.mark.parametrize("runtime", ["msccl", "executor", "rccl"])
def test_the_first_match_runs_and_each_other_says_why_not(tmp_path: Path, runtime: str) -> None:
    write(tmp_path, "a.xml", (8192, 65536))
    write(tmp_path, "b.xml", (0, 65536), inplace="1", outofplace="0")
    write(tmp_path, "c.xml", (0, 65536))
    write(tmp_path, "d.xml", (1, 65536))
    told = reasons(tmp_path, runtime)
    assert told["a.xml"].startswith("is for 8 KiB (8192 B) to 64 KiB" if runtime != "msccl" else "is for 8 KiB")
    assert told["b.xml"] == "is not for out-of-place calls"
    assert told["c.xml"] == "runs"
    assert told["d.xml"] == "matches too, but c.xml comes first"
    # 2 bytes an element: 4098 bytes are 2049 elements, which 4 chunks do not divide
    assert "which do not divide 2049 elements of float16" in reasons(tmp_path, runtime, 4098)["c.xml"]
    assert reasons(tmp_path, runtime, ranks=8)["c.xml"] == 'is for ngpus="4", the communicator has 8 ranks'
    in_place = reasons(tmp_path, runtime, in_place=True)
    assert (in_place["b.xml"], in_place["c.xml"]) == ("runs", "is not for in-place calls")


def test_the_end_of_a_window(tmp_path: Path) -> None:
    # msccl selects sizes below maxBytes, the others up to it
    write(tmp_path, "a.xml", (0, 4096))
    assert reasons(tmp_path, "msccl")["a.xml"].endswith("4095 B); the call has 4096 B")
    assert reasons(tmp_path, "executor")["a.xml"] == "runs"


def test_one_bad_file_ends_the_scan_of_executor_and_is_ignored_by_msccl(tmp_path: Path) -> None:
    write(tmp_path, "a.xml", (0, 65536))
    (tmp_path / "README").write_text("not XML")
    assert "README is refused, which ends the scan" in reasons(tmp_path, "executor")["a.xml"]
    assert reasons(tmp_path, "msccl") == {"a.xml": "runs"}
    (tmp_path / "0.xml").write_text("<algo/>")
    told = reasons(tmp_path, "msccl")
    assert told["a.xml"] == "runs"
    assert told["0.xml"].startswith("is refused and ignored")


def test_msccl_loads_four_files(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"{number}.xml", (8192, 16384))
    write(tmp_path, "5.xml", (0, 65536))
    assert reasons(tmp_path, "msccl")["5.xml"] == "4 files are loaded already, the rest is ignored"
    assert reasons(tmp_path, "executor")["5.xml"] == "runs"


def test_the_command(tmp_path: Path) -> None:
    write(tmp_path, "ar.xml", (0, 1 << 26))

    explain = partial(hocket, "explain", tmp_path, "--collective", "all_reduce", "--ranks", "4")

    done = explain("--size", "25MiB", "--dtype", "float16", "--runtime", "executor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "25 MiB of float16 on 4 ranks runs" in done.stdout
    none = explain("--size", "25MiB", "--dtype", "float16", "--runtime", "executor", "--in-place", "--json", "-")
    assert none.returncode == 1
    told = json.loads(none.stdout)
    assert told["chosen"] is None
    assert told["files"][0]["reason"] == "is not for in-place calls"
    assert explain("--size", "3", "--dtype", "float16", "--runtime", "executor").returncode == 2
    assert "stock NCCL" in explain("--size", "4", "--runtime", "nccl").stderr
