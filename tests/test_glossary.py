"""The words of docs/glossary.md: what stands there as not used is not used, in `--help` and the pages' headings."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from command_help import help_texts
from test_architecture import ROOMS
from walls import read_tree

ROOT = Path(__file__).parents[1]
_QUOTED = re.compile(r"`([^`]+)`")


def instead_of() -> dict[str, tuple[str, list[str]]]:
    """Each word that is not used: the one that is, and phrases in which it means something else."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 5:
            words, _, but = cells[4].partition("; but ")
            found |= {word: (cells[0], _QUOTED.findall(but)) for word in _QUOTED.findall(words)}
    return found


def misused(text: str) -> list[str]:
    """What is wrong in a text, a sentence a word."""
    found = []
    for word, (right, phrases) in instead_of().items():
        rest = text
        for phrase in phrases:
            rest = re.sub(rf"\b{re.escape(phrase)}\b", "", rest, flags=re.IGNORECASE)
        if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", rest, re.IGNORECASE):
            found.append(f"'{word}': the glossary has {right}")
    return found


#: Class names that two rooms still have, for what is alike in them: a new one takes a name of its own.
_SHARED = set(
    [
        "Calibrated",
        "Chunk",
        "Drawing",
        "Element",
        "Engine",
        "Fabric",
        "Field",
        "Finding",
        "Gpu",
        "Group",
        "Importer",
        "Operation",
        "Part",
        "Pending",
        "Profile",
        "Progress",
        "Report",
        "Request",
        "Result",
        "Row",
        "Streams",
        "TraceFiles",
    ]
)


def test_the_glossary_says_what_is_not_used() -> None:
    assert len(instead_of()) > 30
    assert misused("Predict it on a machine, and its bounds") == [
        "'machine': the glossary has node",
        "'bounds': the glossary has lower bound",
    ]
    assert not misused("Processes of this machine; the lower bound")


def test_help() -> None:
    texts = dict(help_texts())
    assert len(texts) > 40
    assert not {name: found for name, text in texts.items() if (found := misused(text))}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(str(p.name) for p in (ROOT / "docs").glob("*.md"))])
def test_headings(page: str) -> None:
    path = ROOT / page if (ROOT / page).is_file() else ROOT / "docs" / page
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ .*", text, re.MULTILINE)
    assert headings
    assert not {heading: found for heading in headings if (found := misused(heading))}


#: Parts of names from which nobody can guess what is meant.
_UNSAID = {
    "attendance",
    "boxes",
    "given",
    "obituaries",
    "planned",
    "planning",
    "promoted",
    "promotion",
    "turned",
    "ways",
}


def names_in(tree: ast.AST) -> set[str]:
    """The names that a module gives: of functions, classes, arguments, variables and attributes."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def test_names_can_be_guessed() -> None:
    sources = read_tree(ROOT, ROOMS).sources
    unsaid = {
        (module, name)
        for module, source in sources.items()
        for name in names_in(ast.parse(source))
        if _UNSAID & set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
    }
    assert not unsaid
    assert names_in(ast.parse("def ways_of(given): turned = 1")) == {"ways_of", "given", "turned"}


def test_one_class_name_has_one_meaning() -> None:
    tree = read_tree(ROOT, ROOMS)
    names = Counter(
        node.name
        for source in tree.sources.values()
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} <= _SHARED
