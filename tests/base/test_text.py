"""Names from files: shown on one line, without anything that a terminal or a page would obey."""

import os
import pickle
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import DeadlockError, FormatError, placed
from hocket.base.notices import notice
from hocket.base.text import markup, printable, printable_lines, shell_word
from hocket.chakra import read_trace


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("all_reduce 1 (µs, 円, 🎵)", "all_reduce 1 (µs, 円, 🎵)"),
        ("a\nerror: b\r\t\0", r"a\nerror: b\r\t\x00"),
        ("\x1b[31mred\x9b0m", r"\x1b[31mred\x9b0m"),
        ("exe.\u202etxt\u2066\u200f\u2028\ufeff", r"exe.\u202etxt\u2066\u200f\u2028\ufeff"),
        ("not UTF-8: \udc80", r"not UTF-8: \udc80"),
    ],
)
def test_what_would_be_obeyed_is_escaped(name: str, shown: str) -> None:
    assert printable(name) == shown


@given(st.text(st.characters(codec=None)))
def test_what_is_shown_is_shown_as_it_is(name: str) -> None:
    shown = printable(name)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown
    shown.encode()


def test_messages_are_escaped_and_lines_of_our_own_are_kept() -> None:
    error = DeadlockError("two wait: a\rb", "which closes the cycle")
    assert str(error) == "two wait: a\\rb\nwhich closes the cycle"
    told = placed("x\ny.xml", error)
    assert type(told) is DeadlockError
    assert str(told) == "x\\ny.xml: two wait: a\\rb\nwhich closes the cycle"
    assert str(pickle.loads(pickle.dumps(told))) == str(told)


def test_the_engine_s_own_errors_are_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "two\rlines\x1b[2J"
    folder.mkdir()
    (folder / "trace.0.et").write_bytes(b"\x00\xff\xff")
    with pytest.raises(FormatError) as caught:
        read_trace(folder / "trace.0.et")
    assert str(caught.value).startswith(rf"{tmp_path}/two\rlines\x1b[2J/trace.0.et: byte 1 ")


def test_what_a_job_is_told_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    notice("hocket: in\x1b[2J\r\u202efolder\n  a line of our own")
    assert capsys.readouterr() == ("", "hocket: in\\x1b[2J\\r\\u202efolder\n  a line of our own\n")


def test_markup_keeps_its_lines() -> None:
    assert markup('<a "b">&\nnext\x1b[0m') == "&lt;a &quot;b&quot;&gt;&amp;\nnext\\x1b[0m"


def test_a_name_stays_on_its_line() -> None:
    assert printable_lines(["one\nerror: two", "three"]) == "one\\nerror: two\nthree"


@pytest.mark.parametrize("text", ["a b", "it's\x1b[2J\\n", "\r\n$(x)`y`\u202e\udcff", "'", "\\\x01'"])
def test_a_shell_reads_a_word_as_it_was(text: str) -> None:
    word = shell_word(text)
    assert word.isprintable()
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert said == os.fsencode(text)
