"""Libraries compiled into the cache."""

import ctypes
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hocket.base.cache import cache_folder
from hocket.base.errors import HocketError
from hocket.plugin.native_build import build, find_built

COMPILER = ["g++", "-shared", "-fPIC"]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOCKET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "answer.hpp").write_text("inline int Answer() { return 42; }\n")
    path = tmp_path / "answer.cpp"
    path.write_text('#include "answer.hpp"\nextern "C" int answer() { return Answer() + ADDED; }\n')
    return path


def answer(library: Path) -> int:
    value: int = ctypes.CDLL(str(library)).answer()
    return value


def test_a_library_is_built_once_and_anew_for_whatever_decides_it(source: Path) -> None:
    header = source.with_suffix(".hpp")
    command = [*COMPILER, "-DADDED=0"]
    first = build([source, header], command, "1", "answer")
    stamp = first.stat().st_mtime_ns
    assert answer(first) == 42
    assert build([source, header], command, "1", "answer") == first and first.stat().st_mtime_ns == stamp
    assert build([source, header], command, "2", "answer") != first  # the key
    assert answer(build([source, header], [*COMPILER, "-DADDED=1"], "1", "answer")) == 43  # a flag
    header.write_text("inline int Answer() { return 7; }\n")
    assert answer(build([source, header], command, "1", "answer")) == 7  # a header


def test_processes_that_ask_at_once_get_one_library(source: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hocket.plugin.native_build import build\n"
        "print(build([Path(sys.argv[1])], sys.argv[2:], '', 'answer'))"
    )
    calls = tmp_path / "calls"
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\necho call >> {calls}\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    command = [sys.executable, "-c", program, str(source), str(compiler), *COMPILER[1:], "-DADDED=0"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    paths = {process.communicate()[0].strip() for process in processes}
    assert len(paths) == 1 and answer(Path(paths.pop())) == 42
    assert calls.read_text().splitlines() == ["call"]
    assert not [path for path in cache_folder().iterdir() if path.suffix not in (".so", ".lock")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [(["no-such-compiler"], "no-such-compiler: cannot be run"), (COMPILER, "ADDED. was not declared")],
)
def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(source: Path, command: list[str], expected: str) -> None:
    with pytest.raises(HocketError, match=expected):
        build([source], command, "", "answer")
    assert not list(cache_folder().glob("answer*.so"))


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_CACHE", "here")
    assert cache_folder() == Path("here").absolute()
    monkeypatch.delenv("HOCKET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", os.sep + "caches")
    assert cache_folder() == Path("/caches/hocket")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/somebody")
    assert cache_folder() == Path("/somebody/.cache/hocket")


def test_what_others_could_have_written_is_not_loaded(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*COMPILER, "-DADDED=0"]
    before = os.umask(0)
    try:
        library = build([source], command, "", "answer")
    finally:
        os.umask(before)
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700 and stat.S_IMODE(library.stat().st_mode) == 0o755
    assert find_built([source], command, "", "answer") == library
    for path in (library, library.parent):
        right = stat.S_IMODE(path.stat().st_mode)
        for bits in (0o020, 0o002):
            path.chmod(right | bits)
            for ask in (find_built, build):
                with pytest.raises(HocketError, match=f"{path}: others may write there.*HOCKET_CACHE"):
                    ask([source], command, "", "answer")
        path.chmod(right)
    library.unlink()
    library.parent.chmod(0o777)
    with pytest.raises(HocketError, match="others may write there"):
        build([source], command, "", "answer")
    library.parent.chmod(0o700)
    build([source], command, "", "answer")
    owner = library.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:  # root's is everybody's to load
        assert find_built([source], command, "", "answer") == library
        os.chown(library.parent, 4711, -1)
    with pytest.raises(HocketError, match=f"{library.parent}: code of user"):
        find_built([source], command, "", "answer")


def test_no_home_and_an_unreadable_one_are_no_cache(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_permission(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    def raise_no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "is_file", raise_permission)
        with pytest.raises(HocketError, match="Permission denied; set HOCKET_CACHE"):
            find_built([source], COMPILER, "", "answer")
    monkeypatch.delenv("HOCKET_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", raise_no_home)
    with pytest.raises(HocketError, match="has no home; set HOCKET_CACHE"):
        cache_folder()
