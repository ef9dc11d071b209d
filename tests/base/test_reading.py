"""Files are read where memory holds them, and refused by their size where it does not."""

import gzip
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from hocket.base.errors import FormatError
from hocket.base.memory import available_bytes, machine_bytes, peak_rss_bytes
from hocket.base.reading import YAML, opened, read_bytes, read_text

GIB = 2**30
# Address space enough for the interpreter and numpy's threads, and no more.
LIMITED = """
import resource, sys
import hocket.topology, hocket.chakra, hocket.nccl, hocket.translator, hocket.schedule
from hocket.base.memory import available_bytes, peak_rss_bytes
used = int(open("/proc/self/status").read().split("VmSize:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 256 * 2**20, -1))
from hocket.base.errors import FormatError
{imports}
before = peak_rss_bytes()
try:
    {call}
except FormatError as error:
    print(error)
print(peak_rss_bytes() - before < 200 * 2**20)
"""


def limited(call: str, imports: str = "") -> tuple[str, str]:
    """What a call is refused with in a process that may take 256 MiB more, and whether it stayed below that."""
    code = LIMITED.format(call=call, imports=imports)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *said, small = done.stdout.splitlines()
    return "\n".join(said), small


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def bomb(path: Path, size: int) -> Path:
    """A gzip file that unpacks to so many bytes, of which it has a thousandth."""
    member = gzip.compress(bytes(64 * 2**20), 9)
    path.write_bytes(member * (size // (64 * 2**20)))
    return path


@pytest.mark.parametrize("name", ["large.json", "bomb.json.gz"])
def test_more_than_memory_is_refused_before_it_is_there(tmp_path: Path, name: str) -> None:
    path = sparse(tmp_path / name, 100 * GIB) if name == "large.json" else bomb(tmp_path / name, 2 * GIB)
    said, small = limited(f"read_bytes({str(path)!r})", "from hocket.base.reading import read_bytes")
    assert said.startswith(f"{path}: ") and "of memory to read, and" in said
    assert said.endswith("are available: give a smaller one, or read it on a machine with more")
    assert small == "True"


READERS = {
    "topology.yaml": ("load(PATH)", "from hocket.topology import load"),
    "machine.xml": (
        "read_machine(PATH)",
        "from hocket.topology.formats.nccl.read import read_nccl_topology as read_machine",
    ),
    "comm_groups.json": ("read_groups(PATH)", "from hocket.chakra.groups import read_groups"),
    "trace.0.et": ("read_trace(PATH)", "from hocket.chakra import read_trace"),
    "trace.0.et.gz": ("read_trace(PATH)", "from hocket.chakra import read_trace"),
    "ar.xml": ("read_file(PATH)", "from hocket.translator import read_file"),
    "ar.json": ("read_plan(PATH)", "from hocket.translator.mscclpp import read_plan"),
    "rules.csv": ("read_tuner_table(PATH)", "from hocket.nccl.tuning.table import read_tuner_table"),
    "nccl_trace_rank_0": (
        "import_traces([Path(PATH)], 'flight-recorder')",
        "from hocket.chakra.importers import import_traces\nfrom pathlib import Path",
    ),
    "measured.txt.gz": ("read_measurements([PATH])", "from hocket.calibration import read_measurements"),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_refuses_what_memory_does_not_hold(tmp_path: Path, name: str) -> None:
    make = bomb if name.endswith(".gz") else sparse
    path = make(tmp_path / name, 2 * GIB)
    call, imports = READERS[name]
    said, small = limited(call.replace("PATH", repr(str(path))), imports)
    assert said.startswith(f"{path}: ") and "are available: " in said, said
    assert small == "True"


def test_what_memory_holds_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\r\nb\rc\n" * 10**6)
    assert read_text(path) == "a\nb\nc\n" * 10**6
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"text"))
    assert read_bytes(packed) == b"text" and read_text(packed) == "text"
    with opened(packed) as file:
        assert file.read(2) == b"te"


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content in (b"text" * 10**6, gzip.compress(b"text" * 10**6), b""):
        writer = Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert len(read_bytes(pipe)) in (4 * 10**6, 0)
        writer.join()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(b"text", mtime=0)[:-4], "Compressed file ended before the end-of-stream marker was reached"),
        (gzip.compress(b"text", mtime=0)[:10] + b"damage" * 9, "Error -3 while decompressing"),
        (b"\xff\xfe", "not a text file (byte 0 is not UTF-8)"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FormatError) as error:
        read_text(path)
    assert str(error.value).startswith(f"{path}: {why}")
    with pytest.raises(FormatError, match="Is a directory"):
        read_text(tmp_path)
    with pytest.raises(FormatError, match="No such file"):
        read_text(tmp_path / "absent")


def test_yaml_takes_about_as_much_memory_as_is_reckoned_with(tmp_path: Path) -> None:
    """The factor decides what is refused: with one too small the reader dies, one too large refuses too much."""
    path = tmp_path / "large.yaml"
    path.write_text("items:\n" + "".join(f"  k{number}: {{a: {number}, b: [1, 2, 3]}}\n" for number in range(60_000)))
    code = (
        "import sys\n"
        "from hocket.base.memory import peak_rss_bytes\n"
        "from hocket.base.reading import read_text\n"
        "from hocket.base.strict_yaml import read_yaml\n"
        "before = peak_rss_bytes()\n"
        "content = read_yaml(read_text(sys.argv[1]), 'large')\n"
        "print(peak_rss_bytes() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert YAML / 3 < int(done.stdout) / path.stat().st_size < YAML * 1.5


def test_memory_that_could_be_had_is_less_than_there_is() -> None:
    assert 0 < available_bytes() < machine_bytes()
    assert peak_rss_bytes() < machine_bytes()
