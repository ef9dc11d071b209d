"""The device interpreter under ThreadSanitizer: what it reads was written before, by its own acquires and releases.

It moves data in units that lie where a GPU can read them, which the sanitizer of alignment holds."""

import csv
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import handmade
import pytest

from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.text import part_text
from hocket.schedule import Kind, Program
from hocket.translator import read_xml

ROOT = Path(__file__).parents[3]
SOURCES = [
    *(f"device/{name}" for name in ("fibers", "peers", "tables", "threads")),
    *(f"executor/{name}" for name in ("program", "workspace")),
]
PROTOCOLS = ("Simple", "LL")


@pytest.fixture(scope="module")
def thread_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("built") / "thread_world"
    files = [Path(__file__).with_name("thread_world.cpp"), *(ROOT / "core" / "src" / f"{name}.cpp" for name in SOURCES)]
    options = ["-std=c++20", "-O1", "-g1", "-fsanitize=thread,alignment", "-fno-strict-aliasing", "-pthread"]
    options += ["-DHOCKET_AS_GPUS_ALIGN"]
    subprocess.run(["g++", *options, f"-I{ROOT}/core/include", *map(str, files), "-o", str(built)], check=True)
    return built


def written(program: Program, path: Path) -> Path:
    """What `thread_world.cpp` reads."""
    wiring = Wiring.of([program])
    window = max(wiring.depths[0], 1)
    kind, chunks = program.kind, program.chunks_per_loop
    shares = program.num_ranks if kind.in_blocks else 1
    factor = 0 if kind.rooted and kind is not Kind.BROADCAST else program.num_ranks if kind.reduces else 1
    head = [
        "program", program.num_ranks, wiring.connections, window, wiring.most_blocks, wiring.depths[0],
        chunks // shares, wiring.largest[0], int(wiring.packets[0]), int(program.in_place),
        int(kind.input_is_block), int(kind.output_is_block), chunks // (shares if kind.input_is_block else 1),
        chunks // (shares if kind.output_is_block else 1), factor,
    ]  # fmt: skip
    lines = [" ".join(map(str, head))]
    for rank in range(program.num_ranks):
        numbers = wiring.numbers[0][rank].tolist()
        text = part_text(program, rank)
        lines.append(" ".join(map(str, [len(numbers), *numbers, len(text)])))
        lines.append(text)
    path.write_text("\n".join(lines))
    return path


def check(thread_world: Path, world: Path, seeds: int) -> None:
    options = {"TSAN_OPTIONS": "halt_on_error=1", "UBSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([thread_world, world, str(seeds)], capture_output=True, text=True, env=options, timeout=300)
    assert (done.returncode, done.stdout) == (0, "program ok\n"), done.stderr[:4000]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_no_step_races(kind: str, protocol: str, thread_world: Path, tmp_path: Path) -> None:
    program = replace(handmade.PROGRAMS[kind](4), protocol=protocol)
    check(thread_world, written(program, tmp_path / "world"), seeds=3)


def references(shared: Path) -> Iterator[Program]:
    """Of at most 60 thread blocks: each is some threads here."""
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as index:
        rows = [row for row in csv.DictReader(index) if row["xmlsim"] == "ok" and row["collective"] != "custom"]
    for row in rows:
        program = read_xml(folder / row["file"])
        if sum(len(gpu.thread_blocks) for gpu in program.gpus) <= 60:
            yield program


@pytest.mark.shared
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_reference_races(protocol: str, shared: Path, thread_world: Path, tmp_path: Path) -> None:
    found = list(references(shared))
    assert len(found) >= 10
    for number, program in enumerate(found):
        check(thread_world, written(replace(program, protocol=protocol), tmp_path / str(number)), seeds=1)
