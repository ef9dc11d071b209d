"""Faces of packages that load what they show when it is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

FACE = '''
"""A face."""
from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from house.paint import paint
    from house.roof import Tile, tiles

__all__ = ["Tile", "paint", "tiles"]
'''
FILES = {
    "__init__": FACE,
    "paint": "from house import roof\n\ndef paint():\n    return 'red'",
    "roof": "class Tile:\n    pass\n\ndef tiles():\n    return [Tile()]",
    "cellar": "x = 1",
    "porch": """
from __future__ import annotations
from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from house import cellar
    from house.hall import DOORS, Colour, Door, door as made

def know() -> Door:
    return made()
""",
    "hall": """
from enum import Enum

class Colour(str, Enum):
    RED = "red"

class Door:
    wide = True

class Gate(Door):
    pass

def door(n=1):
    return [Door()] * n

DOORS = {"front": 1}
""",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    for name, text in FILES.items():
        (tmp_path / "house" / f"{name}.py").write_text(text)
    return tmp_path


def said(house: Path, script: str) -> str:
    loaded = "\nprint(*sorted(name for name in sys.modules if name.startswith('house.')))"
    program = f"import sys\nsys.path.insert(0, {str(house)!r})\n{script}{loaded}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import house", "\n"),
        ("from house import Tile", "house.roof\n"),
        ("import house\nprint(house.paint())", "red\nhouse.paint house.roof\n"),
        ("import house\nprint(house.Tile is house.Tile, len(house.tiles()))", "True 1\nhouse.roof\n"),
        # a function that is called as its module stays what the package shows, whoever loads the module
        ("import house.paint\nimport house\nprint(house.paint())", "red\nhouse.paint house.roof\n"),
        ("from house.paint import paint\nfrom house import paint as shown\nprint(paint is shown)", "True\n"),
        # other modules of a package are its attributes, as ever
        ("import house.cellar\nprint(house.cellar.x)", "1\nhouse.cellar\n"),
        ("from house import cellar\nprint(cellar.x)", "1\nhouse.cellar\n"),
        ("import house\nprint(*[name for name in dir(house) if name[0] != '_'])", "Tile late_imports paint tiles\n\n"),
        ("import house\nprint(hasattr(house, 'door'), house.__name__, house.__doc__)", "False house A face.\n\n"),
        ("from house import *\nprint(paint())", "red\nhouse.paint house.roof\n"),
    ],
)
def test_what_a_face_shows_is_loaded_when_it_is_asked_for(house: Path, script: str, expected: str) -> None:
    assert said(house, script).startswith(expected)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("porch.know()[0].wide", "True"),
        ("len(porch.made(n=3))", "3"),
        ("porch.Door.wide", "True"),
        ("isinstance(porch.Door(), porch.Door), isinstance(1, porch.Door)", "True False"),
        ("porch.DOORS['front'], 'back' in porch.DOORS, [*porch.DOORS], len(porch.DOORS)", "1 False ['front'] 1"),
        ("porch.DOORS == {'front': 1}, porch.DOORS | {}, str(porch.DOORS)", "True {'front': 1} {'front': 1}"),
        ("[each.value for each in porch.Colour], len(porch.Colour), porch.Colour('red').name", "['red'] 1 RED"),
        ("porch.Door | None, None | porch.Door", "house.hall.Door | None None | house.hall.Door"),
    ],
)
def test_other_modules_load_what_they_use_when_they_use_it(house: Path, use: str, expected: str) -> None:
    script = f"import house.porch as porch\nprint(len(sys.modules))\nprint(*({use},))\nprint(len(sys.modules))"
    before, found, after, loaded = said(house, script).splitlines()
    assert (found, loaded, int(after) - int(before)) == (expected, "house.hall house.porch", 1)


def test_modules_are_loaded_late_too_and_used_names_are_those_of_others(house: Path) -> None:
    script = "from house import porch\nprint(porch.cellar.x)\nimport house.cellar, house.hall\nporch.made()"
    same = "\nprint(porch.cellar is house.cellar, porch.made is house.hall.door, type(porch.Door).__name__)"
    assert said(house, script + same) == "1\nTrue True _Later\nhouse.cellar house.hall house.porch\n"


@pytest.mark.parametrize("wrong", ["from house import door", "import house\nhouse.door", "import house.door"])
def test_what_a_face_lacks_is_an_error(house: Path, wrong: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as ended:
        said(house, wrong)
    assert "door" in ended.value.stderr.splitlines()[-1]


def test_other_threads_import_meanwhile(house: Path) -> None:
    script = """
import threading
found = []
def load():
    import house
    from json import dumps
    from house import paint, tiles
    found.append((house.paint is paint, len(tiles()), dumps(1)))
threads = [threading.Thread(target=load) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(set(found))
"""
    assert said(house, script) == "{(True, 1, '1')}\nhouse.paint house.roof\n"
