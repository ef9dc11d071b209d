"""The commands that pages show: what stands after a prompt, and what it is said to print."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGES", "ROOT", "Block", "blocks", "hocket_lines", "typed"]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w{}-]*)\n(?P<text>.*?)^ *```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block: its language, and its text."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(each["language"], each["text"]) for each in _FENCE.finditer(text)]


def typed(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each line after `$ ` of a block, continued lines joined, with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    open_line = False
    for line in block.text.splitlines():
        if open_line:
            found[-1] = (found[-1][0].removesuffix("\\") + line.strip(), [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        open_line = bool(found) and not found[-1][1] and found[-1][0].endswith("\\")
    yield from found


def hocket_lines(block: Block) -> Iterator[list[str]]:
    """The words of each `hocket ...` line of a block that is a whole command: none with `...`, each up to a pipe."""
    for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
        command = line.removeprefix("$ ").strip()
        if not re.match(r"hocket [a-z-]+(\s|$)", command) or "..." in command or "…" in command:
            continue
        words = shlex.split(re.split(r"\s(?:\||&&|>|2>|;)", command.replace("; echo", " ; echo"))[0], comments=True)
        yield words[1:]
