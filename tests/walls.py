"""What a tree of modules imports, and where that breaks its walls: for the real tree, and for trees with a breach.

A room is a folder that says what it may import; folders inside it can be rooms of their own, others are part of it. Its
modules are its ground floor, which the rooms inside may import, or its doors, which look into these. Every import
counts, wherever it stands: within functions, under TYPE_CHECKING, by name (`import_module("hocket.simulator.api")`, a
registry's list of modules).
"""

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

#: The files in `src/hocket` itself.
FACE = "face"
_ENGINE = "hocket._core"
_NAMED = re.compile(r"(hocket(?:\.\w+){2,})(?::\w+)?")


@dataclass(frozen=True, slots=True)
class Import:
    """`module` is imported at a line; `runs`: so that circles may go through it, not for types alone or by name."""

    module: str
    line: int
    runs: bool


@dataclass(frozen=True, slots=True)
class Walls:
    """`may_import`: what each room (`topology/formats`) may import besides itself, `base` and the ground floors of the
    rooms that it lies in; a room stands for those inside it too, and of a room that one lies in for its doors. `doors`:
    modules of a room that look into those inside; a package's `__init__` is one. `packages`: the rooms that may import
    a package of others; `everybody`: packages for all."""

    may_import: Mapping[str, Collection[str]]
    doors: Mapping[str, Collection[str]] = field(default_factory=dict)
    packages: Mapping[str, Collection[str]] = field(default_factory=dict)
    everybody: Collection[str] = ()

    def room(self, folder: str) -> str | None:
        """The innermost room that a folder is, or is in."""
        while folder not in self.may_import:
            if "/" not in folder:
                return None
            folder = folder.rpartition("/")[0]
        return folder


class Tree:
    """Modules by name (`hocket.topology.model`; `packages`: an `__init__` by the name of its package) and sources."""

    def __init__(self, sources: Mapping[str, str], packages: Collection[str] = ()) -> None:
        self.sources = dict(sources)
        self.packages = set(packages)

    def with_modules(self, **sources: str) -> "Tree":
        """The tree in which some modules are others, or new: `topology__model="import torch"`."""
        return Tree(
            self.sources | {f"hocket.{name.replace('__', '.')}": text for name, text in sources.items()}, self.packages
        )

    def path(self, module: str) -> list[str]:
        """`[topology, formats, astra_sim]` for `hocket.topology.formats.astra_sim`."""
        return [*module.split(".")[1:], *(["__init__"] if module in self.packages else [])]

    def folder(self, module: str) -> str:
        """`topology/formats` for `hocket.topology.formats.astra_sim`."""
        return "/".join(self.path(module)[:-1]) or FACE

    def imports(self, module: str) -> Iterator[Import]:
        """The modules of the tree that a module imports, and those of others."""
        for name, line, runs in _imports(self.sources[module]):
            found = name
            while found not in self.sources and "." in found.strip("."):
                found = found.rpartition(".")[0]
            of_none = found == "hocket" and name.count(".") > 1
            if not of_none and not name.startswith(_ENGINE) and found != module:
                yield Import(found, line, runs)


def read_tree(root: Path, folders: Iterable[str]) -> Tree:
    """The modules in these folders of the root, and in `src/hocket`, but for what is linked there."""
    sources: dict[str, str] = {}
    packages = set()
    for at, base in [*((root, root / folder) for folder in folders), (root / "src/hocket", root / "src/hocket")]:
        for path in base.rglob("*.py"):
            if any(parent.is_symlink() for parent in path.parents):
                continue
            parts = ["hocket", *path.relative_to(at).with_suffix("").parts]
            if parts[-1] == "__init__":
                packages.add(".".join(parts := parts[:-1]))
            sources[".".join(parts)] = path.read_text(encoding="utf-8")
    return Tree(sources, packages)


@lru_cache(maxsize=4096)
def _imports(source: str) -> tuple[tuple[str, int, bool], ...]:
    """Dotted names that a source imports, down to what is taken out of modules; lines; whether the import runs."""
    found: list[tuple[str, int, bool]] = []
    for node, runs in _walk(ast.parse(source)):
        match node:
            case ast.Import():
                found += [(alias.name, node.lineno, runs) for alias in node.names]
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                found += [(f"{module}.{alias.name}", node.lineno, runs) for alias in node.names]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(text)), *_]):
                if name in ("import_module", "__import__"):
                    found.append((text, node.lineno, False))
            case ast.Constant(value=str(text)) if named := _NAMED.fullmatch(text):
                found.append((named[1], node.lineno, False))
    return tuple(dict.fromkeys(found))


def _walk(root: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes, and whether they run: what is under TYPE_CHECKING does not."""
    rest = [(root, True)]
    while rest:
        node, runs = rest.pop()
        yield node, runs
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            rest += [(each, False) for each in node.body]
            rest += [(each, runs) for each in node.orelse]
        else:
            rest += [(each, runs) for each in ast.iter_child_nodes(node)]


def breaches(tree: Tree, walls: Walls) -> list[str]:
    """Every import that breaks a wall, every folder without one, and circles: a sentence each."""
    folders = {tree.folder(module) for module in tree.sources}
    found = [f"{folder}/ is in no room: say what it may import" for folder in sorted(folders) if not walls.room(folder)]
    for module in sorted(tree.sources):
        for each in tree.imports(module):
            if reason := _wrong(tree, walls, module, each.module):
                found.append(f"{module}, line {each.line}: {each.module} {reason}")
    return found + circles(tree)


def _wrong(tree: Tree, walls: Walls, module: str, other: str) -> str | None:
    """Why a module may not import another; None: it may."""
    here = walls.room(tree.folder(module))
    if other.startswith("."):
        return "is relative: write absolute imports"
    if other.split(".")[0] != "hocket":
        return _wrong_package(walls, here, other.split(".")[0])
    there = walls.room(tree.folder(other)) if other in tree.sources else None
    if there is None or here is None:
        return None  # said of the folder; names of no module are data
    to_door = _is_door(tree, walls, there, other)
    if here == there or there.startswith(f"{here}/"):
        if _is_door(tree, walls, here, module) or (here == there and not to_door):
            return None
        return f"is a door of {here}/, or inside it: {module} is none of its doors"
    allowed = walls.may_import[here]
    if here.startswith(f"{there}/") and not to_door:
        return None
    if there == "base" or any(there == room or there.startswith(f"{room}/") for room in allowed):
        return None
    return f"is not for {here}/, which may import {', '.join(sorted(allowed)) or 'nothing'}"


def _is_door(tree: Tree, walls: Walls, room: str, module: str) -> bool:
    """In a room without doors modules are all alike."""
    doors = walls.doors.get(room)
    return doors is not None and (module in tree.packages or module.rpartition(".")[2] in doors)


def _wrong_package(walls: Walls, here: str | None, package: str) -> str | None:
    if package in sys.stdlib_module_names or package in walls.everybody:
        return None
    allowed = walls.packages.get(package, ())
    if here is None or any(here == room or here.startswith(f"{room}/") for room in allowed):
        return None
    return f"is for {', '.join(sorted(allowed)) or 'nobody: say who may import it'}"


def circles(tree: Tree) -> list[str]:
    """A circle of modules that import each other, if there is one; and one in each folder of its modules and the
    folders inside it, each of these taken as one. A package's `__init__` only shows what is inside, and is left out."""
    edges = {
        module: {each.module for each in tree.imports(module) if each.runs and each.module in tree.sources}
        for module in tree.sources
    }
    parts: dict[str, dict[str, set[str]]] = {}
    for module, other in ((module, other) for module, targets in edges.items() for other in targets):
        first, second = tree.path(module), tree.path(other)
        same = next(at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two)
        if "__init__" not in (first[same], second[same]):
            parts.setdefault("/".join(first[:same]), {}).setdefault(first[same], set()).add(second[same])
    found = [_circle("modules", edges), *(_circle(f"{folder or 'rooms'}/", parts[folder]) for folder in sorted(parts))]
    return [circle for circle in found if circle]


def _circle(what: str, edges: Mapping[str, Collection[str]]) -> str | None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return f"circle of {what}: {' imports '.join(reversed(error.args[1]))}"
    return None
