"""Examples are run as a reader would run them."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_compare_algorithms(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "compare_algorithms.py"), "mesh:3x3,bandwidth=50GB/s,latency=500ns"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first_words = [line.split()[0] for line in done.stdout.splitlines()]
    assert first_words == ["bound", "ring", "direct", "synthesized", "wrote"]
    assert "<algo" in (tmp_path / "ar.xml").read_text()


def test_write_algorithm_says_what_it_needs() -> None:
    command = [sys.executable, str(EXAMPLES / "write_algorithm.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "usage: python examples/write_algorithm.py FOLDER\n")


def test_write_algorithm(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "write_algorithm.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = ["hierarchical.msccl.xml", "hierarchical.executor.xml", "hierarchical.rccl.xml"]
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == names
    assert {path.name for path in tmp_path.iterdir()} == set(names)
