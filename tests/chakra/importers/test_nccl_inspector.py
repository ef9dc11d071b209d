"""NCCL Inspector files, hand-written: the fields are those of its json dump, format v4.0 (NCCL 2.30)."""

from pathlib import Path

import pytest
from handwritten import collective, message, record
from import_commands import communication, hocket, imported

from hocket.chakra import NodeType


def test_inspector(tmp_path: Path) -> None:
    for process in range(4):
        lines = [
            record(process, "0xworld", 4, process, **collective("AllReduce", 1, 1 << 20)),
            # Processes 1 and 3, 0 and 2: what NCCL counts of a reduce_scatter is the part of one rank.
            record(process // 2, f"0xhalf{process % 2}", 2, process, **collective("ReduceScatter", 1, 4096)),
            record(process // 2, f"0xhalf{process % 2}", 2, process, **collective("AllGather", 2, 4096)),
        ]
        if process in (0, 2):
            lines.append(
                record(
                    process // 2, "0xhalf0", 2, process, **message(["Send", "Recv"][process // 2], 1 - process // 2, 64)
                )
            )
        (tmp_path / f"node-pid{100 + process}.log").write_text("\n".join(lines) + "\n")
    traces, printed = imported(tmp_path, *tmp_path.glob("*.log"))
    assert traces.groups == {"1": (0, 2), "2": (1, 3)}
    expected = {("all_reduce", 1 << 20): 1, ("reduce_scatter", 2 * 4096): 1, ("all_gather", 4096): 1}
    assert communication(traces.traces[1]) == expected
    assert communication(traces.traces[0]) == expected | {("send", 64): 1}
    assert communication(traces.traces[2]) == expected | {("recv", 64): 1}
    # One after another, each 110 us.
    assert traces.traces[3].start_us.tolist() == [0, 110, 220]
    assert not (traces.traces[3].type == NodeType.COMP).any()
    assert "the Inspector records neither" in printed


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([record(0, "a", 2, 0, **collective("AllReduce", 1, 8))], "communicator a has 2 ranks, of which [0] are"),
        ([record(0, name, 1, p, **collective("AllReduce", 1, 8)) for p, name in enumerate("ab")], "all 2 processes"),
        ([record(0, "a", 1, 0, **collective("AllRed", 1, 8))], "no collective is called 'AllRed'"),
        ([record(0, "a", 1, 0, **collective("AllReduce", 1, -8))], ":1: not a record of NCCL's Inspector"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, lines: list[str], expected: str) -> None:
    (tmp_path / "node.log").write_text("\n".join(lines))
    done = hocket("import", tmp_path / "node.log", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert expected in done.stderr
