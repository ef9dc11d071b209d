"""Traces as Hocket's commands make them, of four ranks unless the name says otherwise, by what made them."""

from collections.abc import Callable
from pathlib import Path

from in_process import hocket

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces"


def _made(*arguments: object) -> None:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr


def _merged(folder: Path) -> None:
    for part, ranks in (("a", "2,3"), ("b", "0,1")):
        _made("trace", "slice", EXAMPLE, "--ranks", ranks, "-o", folder.parent / f"{folder.name}-{part}")
    parts = [folder.parent / f"{folder.name}-{part}" for part in "ab"]
    _made("trace", "merge", *parts, "--in-order", "-o", folder)


_ALL_TO_ALL = ("generate", "collective", "all_to_all", "--ranks", 4, "--size", "6MiB", "--split", "3,1,1,1")
_LLM = ("generate", "llm", "llama3-8b", "--tp", 2, "--dp", 2, "--global-batch", 2)

OUTPUTS: dict[str, Callable[[Path], None]] = {
    "collect": lambda folder: _made("trace", "convert", EXAMPLE, "--profile", "mlcommons", "-o", folder),
    "slice of a time": lambda folder: _made("trace", "slice", EXAMPLE, "--time", "1ms:1s", "-o", folder),
    "slice of two ranks": lambda folder: _made("trace", "slice", EXAMPLE, "--ranks", "1,2", "-o", folder),
    "merge": _merged,
    "anonymize": lambda folder: _made("trace", "anonymize", EXAMPLE, "-o", folder),
    "generate collective": lambda folder: _made(*_ALL_TO_ALL, "-o", folder),
    "generate rooted": lambda folder: _made(
        "generate", "collective", "gather", "--ranks", 4, "--size", "1MiB", "--root", 2, "-o", folder
    ),
    "generate ring": lambda folder: _made(
        "generate", "collective", "ring_exchange", "--ranks", 4, "--size", "1MiB", "-o", folder
    ),
    "generate network": lambda folder: _made(
        "generate", "network", "resnet50", "--ranks", 4, "--parallel", "data", "-o", folder
    ),
    "generate llm": lambda folder: _made(*_LLM, "-o", folder),
}
# Of golden data: files under `shared`, which `hocket trace import` takes.
IMPORTS = {
    "import pytorch": "torch_traces/profiler/misc",
    "import flight-recorder": "torch_traces/interposed/ddp_tf/fr.*.json",
}
