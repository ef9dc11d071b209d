"""How to install what Hocket uses where it is there: as pyproject.toml has it, and from an index that has it."""

import re
import shlex
from pathlib import Path

import pytest

from hocket.base.extras import EXTRAS, install_command

tomllib = pytest.importorskip("tomllib", reason="Python 3.11")
ROOT = Path(__file__).parents[2]


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {name: list(packages) for name, packages in EXTRAS.items()} == {name: declared[name] for name in EXTRAS}
    assert set(declared) - set(EXTRAS) == {"test", "lint", "docs"}


def test_the_command_is_what_a_shell_takes() -> None:
    assert install_command("mpi") == "pip install 'mpi4py>=4' 'mpich>=5'"
    assert shlex.split(install_command("torch")) == ["pip", "install", "torch>=2.4"]


def test_nothing_tells_to_install_from_an_index_that_has_no_hocket() -> None:
    files = [path for where in ("*.md", "*.py") for path in ROOT.rglob(where)]
    ours = [path for path in files if not {".git", ".venv", "build", "dist"} & set(path.relative_to(ROOT).parts)]
    told = re.compile(r"pip install [^\n]*hocket\[")
    assert len(ours) > 1000
    assert not [str(path) for path in ours if told.search(path.read_text(encoding="utf-8")) and path != Path(__file__)]
