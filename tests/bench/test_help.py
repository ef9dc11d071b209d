"""Every bench says what it measures instead of measuring it when asked for help."""

import runpy
import sys
from pathlib import Path

import pytest

import hocket.bench

BENCHES = sorted(
    path.stem
    for path in Path(hocket.bench.__file__).parent.glob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)


def run(monkeypatch: pytest.MonkeyPatch, name: str, option: str) -> int | str | None:
    """What `python -m hocket.bench.NAME OPTION` exits with."""
    monkeypatch.setattr("sys.argv", [name, option])
    monkeypatch.delitem(sys.modules, f"hocket.bench.{name}", raising=False)
    with pytest.raises(SystemExit) as end:
        runpy.run_module(f"hocket.bench.{name}", run_name="__main__", alter_sys=True)
    return end.value.code


@pytest.mark.parametrize("name", BENCHES)
def test_help_prints_the_docstring(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, name, "--help") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m hocket.bench.{name} [-h]")
    lines = Path(hocket.bench.__file__).with_name(f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert lines[0].strip('"') in text


def test_an_unknown_argument_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "themis", "--hlep") == 2
    assert "unrecognized arguments: --hlep" in capsys.readouterr().err
