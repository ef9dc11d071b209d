"""What docs/python.md shows is so."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_first_program_of_the_python_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    first, second = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = first.replace('"examples/traces"', repr(str(ROOT / "examples" / "traces")))
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("topology: dgx-h100:nodes=2\ncollective: all_reduce\nsize: 1MiB\n")
    shown = shown.replace('"ar.xml"', repr(str(tmp_path / "ar.xml")))
    shown = shown.replace('"sweep.yaml"', repr(str(sweep))).replace('"sweep/"', repr(str(tmp_path / "sweep")))
    names: dict[str, object] = {}
    exec(shown.replace(', executor="processes"', ""), names)
    printed = re.search(r"^job  # <SimulationResult: examples/traces: (.*)$", first, re.MULTILINE)
    assert printed is not None and repr(names["job"]).endswith(printed[1])
    assert names["made"].verify().proved and names["program"].run(size="1MiB", iterations=1).wrong == 0
    exec(second, names)
