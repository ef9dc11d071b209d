"""Arrows between the folders go one way: the table of docs/architecture.md, held here."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "base": set(),
    "topology": set(),
    "schedule": {"topology"},
    "chakra": set(),
    "workload": {"chakra", "topology"},
    "simulator": {"topology", "schedule", "chakra", "workload"},
    "nccl": {"topology", "schedule"},
    "calibration": {"topology", "schedule", "simulator", "nccl"},
    "synthesizer": {"topology", "schedule"},
    "translator": {"topology", "schedule", "chakra", "simulator"},
    "recording": {"chakra", "schedule", "nccl"},
    "runtime": {"chakra", "schedule", "simulator", "translator"},
    "plugin": {"chakra", "schedule", "translator", "nccl", "recording", "runtime"},
}
EVERYTHING = set(MAY_IMPORT)
MAY_IMPORT["bench"] = EVERYTHING | {"cli", "report"}


def imported_folders(path: Path) -> set[str]:
    """First-level `hocket.<folder>` names a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("hocket.")}


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_imports_go_one_way(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    allowed = MAY_IMPORT[folder] | {folder, "base", "_core", "__version__"}
    for path in files:
        wrong = imported_folders(path) - allowed
        assert not wrong, f"{path.relative_to(ROOT)} may not import {sorted(wrong)}; allowed: {sorted(allowed)}"


def test_core_headers_include_only_allowed_subjects() -> None:
    for path in sorted((ROOT / "core").rglob("*.[ch]pp")):
        subject = path.parent.name if path.parent.name in EVERYTHING else None
        if subject is None:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "hocket/') and line.count("/") == 2:
                other = line.split("/")[1]
                assert other in MAY_IMPORT[subject] | {subject}, f"{path.relative_to(ROOT)}: {line}"
