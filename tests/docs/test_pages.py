"""Pages lead somewhere: links, anchors, files that they name, commands that they show; and the site builds of them."""

import ast
import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest
import typer
from in_process import hocket
from typed_commands import PAGES, ROOT, Block, blocks, hocket_lines, typed

from hocket.base.errors import ExitCode
from hocket.cli import SUMMARY
from hocket.cli.groups import group_of

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_IN_CODE = re.compile(r"docs/([a-z-]+\.md)(?:#([a-z0-9-]+))?")
#: What is printed when a block is run; shown with a prompt and `console` as its language.
CONSOLE = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]


def without_code(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Of the page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", without_code(page), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> list[str]:
    broken = []
    for path, anchor in _LINK.findall(without_code(page)):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_anchors(page: Path) -> None:
    assert not broken_links(page)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One: `two`\n[a](#one-two) [b](#three) [c](none.md)\n```\n[d](none.md)\n```\n", encoding="utf-8")
    assert broken_links(page) == ["#three", "none.md#"]


def test_pages_that_code_names_are_there() -> None:
    """Docstrings, messages and help lead to pages and anchors that exist."""
    listed = subprocess.run(["git", "ls-files", "*.py", "*.cpp", "*.hpp"], cwd=ROOT, text=True, capture_output=True)
    sources = [ROOT / name for name in listed.stdout.splitlines() if not name.startswith(("tests/docs/", "src/"))]
    missing = {
        (path.name, name)
        for path in sources
        for name, anchor in _IN_CODE.findall(path.read_text(encoding="utf-8", errors="replace"))
        if not (page := ROOT / "docs" / name).is_file() or (anchor and anchor not in anchors(page))
    }
    assert len(sources) > 500 and not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_shipped(page: Path) -> None:
    named = re.findall(r"\bexamples/[\w./-]*\w", page.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\(([a-z-]+\.md)\)", index))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_a_page_shows_parse(page: Path) -> None:
    """Every whole `hocket` line of every code block has options and arguments that the command takes today."""
    for block in blocks(page):
        for words in hocket_lines(block):
            parse(words)


def parse(words: list[str]) -> None:
    """Raises click's UsageError for words that no command takes."""
    command, context = group_of("", SUMMARY), None
    while hasattr(command, "commands"):
        context = typer.Context(command, info_name="hocket", parent=context)
        _, inside, words = command.resolve_command(context, words)
        assert inside is not None, words
        command = inside
    command.make_context(command.name, list(words), parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_that_a_page_shows_can_be_imported(page: Path) -> None:
    """Every Python block is Python, and what it takes from Hocket is there."""
    for block in (block for block in blocks(page) if block.language == "python"):
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hocket"):
                module = importlib.import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name) or find_spec(f"{node.module}.{name.name}"), name.name


@pytest.mark.parametrize("page", CONSOLE, ids=lambda page: page.name)
def test_console_blocks_print_what_they_show(page: Path, tmp_path: Path) -> None:
    """What a reader types, block by block in one folder; `...` stands for lines that are not shown."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        if name := re.match(r"# ([\w.-]+\.(?:ya?ml|csv))\b", block.text):
            (tmp_path / name[1]).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            run(block, tmp_path)


def run(block: Block, folder: Path) -> None:
    for command, shown in typed(block):
        (words,) = hocket_lines(Block("", command))
        done = hocket(*chain.from_iterable(expanded(word, folder) for word in words), cwd=folder)
        said = done.stdout + done.stderr
        code = re.search(r"# exit code (\d)", command)
        assert done.returncode == (int(code[1]) if code else ExitCode.DONE), f"{command}\n{said}"
        printed = iter([line.rstrip() for line in said.splitlines()])
        for line in shown:
            assert line == "..." or line.rstrip() in printed, f"{command} does not print, or not there: {line}\n{said}"


def expanded(word: str, folder: Path) -> list[str]:
    """As a shell does: the files that a word with `*` names."""
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
    return found or [word]


@pytest.mark.docs
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    """Without a warning, and without a page that needs the network."""
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(tmp_path / "site")]
    done = subprocess.run(build, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "searchindex" in str(list((tmp_path / "site").iterdir())) and 'href="slurm.html"' in index
    loaded = re.findall(r'<(?:script|img|link rel="(?:stylesheet|icon)")[^>]*(?:src|href)="(https?:[^"]*)"', index)
    assert not loaded
