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
    "broken": "import nothing_of_this_name",
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
