"""Files that say much in a few lines: never more than 2 GiB, seconds, and a clear error."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile import mutants, wide
from in_process import hocket

from hocket.schedule import Collective, Kind, retime
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import (
    Lowering,
    judge,
    lower,
    nccl_graph,
    read_document,
    to_program_json,
    to_switch_json,
    to_xml,
)
from hocket.translator.lowering.over_switches import lower_over_switches
from hocket.translator.mscclpp import lower_to_plan, to_json

LIMIT_SECONDS = 30  # of an ordinary core's CPU, a file; what they took before: minutes, or 5 GB
ORDINARY_SECONDS = 0.2  # of such a core, for what `slowness` counts


def program(profile: str, chunks: int) -> str:
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 4096, chunks), load("ring:4,bandwidth=1GB/s,latency=1us"))
    lowered = lower(schedule, profile)
    return to_program_json(lowered) if profile == "json" else to_xml(lowered, profile)


def switches() -> str:
    schedule = build("nvls", Collective(Kind.ALL_REDUCE, 4, 4096, 2), load("dgx-h100:gpus=4,nvls=1"))
    return to_switch_json(lower_over_switches(schedule, Lowering()))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A folder of files for each reader of `hostile`."""
    root = tmp_path_factory.mktemp("hostile")
    schedule = retime(
        build("ring", Collective(Kind.ALL_GATHER, 4, 4096), load("ring:4,bandwidth=1GB/s,latency=1us")),
    )
    links = "".join(f"{rank},{(rank + 1) % 4},500,50,{rank},{(rank + 3) % 4},{(rank + 2) % 4}\n" for rank in range(4))
    columns = "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks"
    table = f"NPUs Count,4\nLinks Count,4\nChunks Count,4\nChunk Size,1024,B\n{columns}\n{links}"
    gpus = "".join(f'<gpu dev="{dev}"/>' for dev in range(60_000))
    files = {
        "xml": [*mutants(program("msccl", 1), 60, 1), *(wide(*case) for case in WIDE)],
        "json": mutants(program("json", 2), 60, 2),
        "switches": mutants(switches(), 60, 5),
        "plan": mutants(to_json(lower_to_plan(schedule).plan), 40, 3),
        "graph": [
            *mutants(nccl_graph(schedule), 20, 4),
            f'<graphs version="1"><graph pattern="4"><channel>{gpus}</channel></graph></graphs>',
        ],
        "tacos": [table, *(table.replace(f"{name} Count,4", f"{name} Count,{10**11}") for name in ("NPUs", "Chunks"))],
    }
    for name, texts in files.items():
        (root / name).mkdir()
        suffix = {"json": "json", "switches": "json", "plan": "json", "tacos": "csv"}.get(name, "xml")
        for number, text in enumerate(texts):
            (root / name / f"{number:03}.{suffix}").write_text(text)
    return [root / name for name in files]


WIDE = [(1000, 32838, 71, 32838), (1000, 32838, 32838, 0), (60, 32000, 32000, 0), (2, 32838, 32838, 32838)]


def slowness() -> float:
    """How many times longer than an ordinary core this one takes, at least 1: a machine under load may be slower."""
    begun = time.process_time()
    sum(number for number in range(4_000_000))
    return max(1.0, (time.process_time() - begun) / ORDINARY_SECONDS)


def test_no_file_takes_the_memory_or_the_day(folders: list[Path]) -> None:
    child = [sys.executable, str(Path(__file__).with_name("hostile.py")), *map(str, folders)]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-500:], done.stderr)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == sum(len(list(folder.iterdir())) for folder in folders)
    slow = slowness()
    assert [row for row in rows if row[2].startswith("CRASH")] == []
    assert [row for row in rows if float(row[0]) > LIMIT_SECONDS * slow] == []
    read = {row[1].split("/")[0] for row in rows if row[2] == "read"}
    assert read == {folder.name for folder in folders}  # some of each kind are not even wrong


def test_the_limit_is_told() -> None:
    judgement = judge(read_document(wide(1000, 32838, 71, 32838), "x"), "executor")
    assert not judgement.correct
    # input, output and scratch on 1000 ranks; 71 for each of 3000 steps are fewer than 2^23
    assert f"{1000 * 3 * 32838} chunks in the buffers of all ranks are too many to execute" in judgement.reasons[0]
    assert "limit 8388608 (8388608, or 71 for each of 3000 steps); use fewer chunks" in judgement.reasons[0]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "laughs.xml",
            b'<!DOCTYPE a [<!ENTITY b "&a;&a;">]>\n<algo/>',
            "found a DOCTYPE; remove it; the runtimes know no",
        ),
        ("binary.xml", bytes(range(256)), "text outside the elements; remove it, if this is MSCCL XML at all"),
        ("empty.xml", b"", "has no <algo> element at the top; is this MSCCL XML?"),
        ("cut.xml", b'<algo name="x"', "is the file cut short?"),
        (
            "algorithm",
            b"<algo/>" * 9,
            "not a .schedule file (it starts with other bytes; MSCCL XML is named .xml, a program .json)",
        ),
        ("empty.json", b"", "not "),
    ],
)
def test_what_is_no_program_is_told(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path, out = tmp_path / name, tmp_path / "out.xml"
    path.write_bytes(content)
    for command in (["verify", path], ["translate", path, "--to", "rccl", "-o", out]):
        done = hocket(*command)
        assert done.returncode == 3
        assert done.stderr.startswith(f"error: {path}")
        assert reason in done.stderr
        assert "Traceback" not in done.stderr
    assert not out.exists()
