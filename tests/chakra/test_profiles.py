"""Whatever Hocket writes, in either profile, is what the feeders of MLCommons and ASTRA-sim read."""

from pathlib import Path

import pytest
from in_process import hocket
from outputs import IMPORTS, OUTPUTS

from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import CollectiveType, TraceBuilder, write_trace


def check_both(made: Path, folder: Path) -> None:
    """Checks the traces as they are, and what `convert` makes of them for ASTRA-sim."""
    check_mlcommons(made)
    done = hocket("trace", "convert", made, "--profile", "astra-sim", "-o", folder)
    assert done.returncode == 0, done.stderr
    check_astra_sim(folder)


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(tmp_path: Path, name: str) -> None:
    OUTPUTS[name](tmp_path / "made")
    check_both(tmp_path / "made", tmp_path / "astra")


@pytest.mark.shared
@pytest.mark.parametrize("name", IMPORTS)
def test_imports(shared: Path, tmp_path: Path, name: str) -> None:
    files = sorted(shared.glob(IMPORTS[name]))
    assert hocket("trace", "import", *files, "-o", tmp_path / "made").returncode == 0
    check_both(tmp_path / "made", tmp_path / "astra")


def test_the_rules_tell_what_is_wrong(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.add_collective("barrier", CollectiveType.BARRIER, 0)
    write_trace(tmp_path / "trace.0.et", builder.build())
    (tmp_path / "comm_groups.json").write_text("{}")
    check_mlcommons(tmp_path)
    with pytest.raises(AssertionError, match="node 0"):
        check_astra_sim(tmp_path)
    path = tmp_path / "trace.0.et"
    # comm_type in the member int32_val (field 7) instead of int64_val (field 9).
    wrong = path.read_bytes().replace(b"\x0a\x09comm_type\x48", b"\x0a\x09comm_type\x38")
    assert wrong != path.read_bytes()
    path.write_bytes(wrong)
    with pytest.raises(AssertionError, match="node 0: comm_type"):
        check_mlcommons(tmp_path)
