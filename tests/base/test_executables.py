"""The compiler that CXX names: words of a command line, or the first that is there."""

import re
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.base.executables import cxx_compiler
from hocket.simulator import ns3
from hocket.simulator.ns3_build import built_witness


def test_cxx_is_a_command_line_and_empty_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "ccache 'my g++' -m64")
    assert cxx_compiler() == ["ccache", "my g++", "-m64"]
    (tmp_path / "clang++").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", " ")
    assert cxx_compiler() == ["clang++"]
    (tmp_path / "clang++").unlink()
    with pytest.raises(HocketError, match=re.escape("no C++ compiler (g++, c++, clang++): apt-get install g++")):
        cxx_compiler()


def test_an_open_quote_in_cxx_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ '-O2")
    with pytest.raises(HocketError, match=re.escape("CXX=g++ '-O2: No closing quotation; mend it, or unset CXX")):
        cxx_compiler()
    if ns3.found() is not None:
        with pytest.raises(HocketError, match="No closing quotation"):
            built_witness()
