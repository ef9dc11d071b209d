"""PyTorch's private interfaces: all in one list, which is right for the installed PyTorch, and what their loss does."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
import torch

from hocket.base.errors import HocketError
from hocket.plugin.torch import interfaces, sections
from hocket.plugin.torch.interfaces import HEADERS, INTERFACES, Interface

pytestmark = pytest.mark.torch

PLUGIN = Path(__file__).parents[3] / "plugin"
FILES = [path for room in ("torch", "serve") for path in sorted((PLUGIN / room).rglob("*.py"))]
#: Not PyTorch's: Python's frames, Hocket's engine, a named tuple's own.
OTHERS = {"_getframe", "_core", "_asdict", "_replace"}
#: Private without an underscore.
PLAIN = {"unbox", "boxed", "redispatch_boxed", "trace_rules"}


def private_names(path: Path) -> Iterator[str]:
    """What a file reaches of others by a private name, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            names = [] if of_self else [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            names = [node.args[1].value] if isinstance(node.args[1], ast.Constant) else []
        for name in names:
            is_private = name.startswith("_") and not name.startswith("__") and name not in OTHERS
            if is_private or name in PLAIN:
                yield f"{path.relative_to(PLUGIN)}:{node.lineno}: {name}"


def test_private_interfaces_are_reached_through_one_file() -> None:
    listed = PLUGIN / "torch" / "interfaces.py"
    own = re.compile(r"^    def (_\w+)|^        self\.(_\w+)|^    (_\w+):", re.MULTILINE)
    outside = []
    for path in FILES:
        if path == listed:
            continue
        # what a file's own classes have may be reached by other objects of the file
        of_file = {name for found in own.findall(path.read_text()) for name in found}
        outside += [found for found in private_names(path) if found.rpartition(" ")[2] not in of_file]
    assert outside == []


def test_headers_of_cpp_are_listed() -> None:
    sources = [path for room in ("torch", "serve") for path in sorted((PLUGIN / room).rglob("*.[ch]pp"))]
    included = {
        header for path in sources for header in re.findall(r"#include <((?:torch|ATen|c10)/.*?)>", path.read_text())
    }
    assert included == {header.name for header in HEADERS}


def test_the_list_is_right_for_the_installed_pytorch() -> None:
    wrong = [interface.name for interface in INTERFACES if (interface.found is not None) != interface.is_expected]
    assert wrong == []
    assert [header.name for header in HEADERS if not header.is_there] == []


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a function that this PyTorch has not, and of one that is needed."""
    interfaces.take_missed()
    gone = Interface("torch.distributed._gone", "an example", "its waits are not seen")
    monkeypatch.setattr(sections, "_SECTIONS", (gone,))
    sections.watch_sections(SimpleNamespace())  # type: ignore[arg-type]  # it is not asked
    assert interfaces.take_missed() == {
        "torch.distributed._gone": f"PyTorch {torch.__version__} has it not: its waits are not seen"
    }
    assert interfaces.take_missed() == {}
    with pytest.raises(HocketError, match=r"has not torch\.distributed\._gone, needed for this: an example"):
        gone.need()
