"""NCCL's own log: lines as its versions print them, mixed and cut as launchers do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError
from hocket.nccl import read_nccl_log
from hocket.nccl.choice import NcclChoice, forced, read_choice

PREFIX = "node-a:400:455 [0] NCCL INFO "


def table_row(name: str, cells: list[tuple[float, float]]) -> str:
    return f"{name:>13} |" + "".join(f"{latency:8.1f}/{bandwidth:6.1f} |" for latency, bandwidth in cells)


def table(scale: float = 1.0) -> list[str]:
    """Two blocks of three algorithms and one of one; LL128 of the second algorithm is off."""
    lines = []
    for names in (("Tree", "Ring", "CollNetDirect"), ("CollNetChain", "NVLS", "NVLSTree"), ("PAT",)):
        lines.append("  Algorithm   |" + "".join(f" {'':>14}   {name:>14}   {'':>14} |" for name in names))
        lines.append("  Protocol    |" + "".join(f" {name:>14} |" for name in ("LL", "LL128", "Simple") * 3))
        lines.append(" Max NThreads |" + f" {512:>14} |" * (3 * len(names)))
        for at, collective in enumerate(("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")):
            cells = [(at + column * scale, 0.0 if column == 4 else 10.5) for column in range(3 * len(names))]
            lines.append(table_row(collective, cells))
    return lines


LOG = [
    "NCCL version 2.29.7+cuda12.9",
    *(
        PREFIX + text
        for text in (
            "[Rank 0] ncclCommInitRank comm 0x55a7 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 10 - Init START",
            "NCCL_NVLS_ENABLE set by environment to 0.",
            "comm 0x55a7 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
            *table(),
            "AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}",
            "AllGather:    65536 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..11}",
            "AllGather [Symmetric]: 64 Bytes -> Kernel AllGather_LL nchannels 1 nthreads 64 nWorks 1",
        )
    ),
]


def read(text: str, folder: Path):
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8", newline="")
    return read_nccl_log(path)


@pytest.mark.parametrize("prefix", ["", "0: ", "[1,0]<stdout>:", "2026-11-22T10:00:00.1Z "])
def test_what_a_log_tells(prefix: str, tmp_path: Path) -> None:
    noise = "node-b:9:9 [3] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/IPC"
    log = read("".join(f"{prefix}{line}\n{prefix}{noise}\nepoch 3: loss 0.1\n" for line in LOG), tmp_path)
    assert (log.version, log.settings, log.apart) == ("2.29.7+cuda12.9", {"NCCL_NVLS_ENABLE": "0"}, 1)
    assert log.communicators == {(16, 2)}
    first, second = log.choices
    assert (first.collective, first.size_bytes, first.algorithm, first.protocol) == ("AllReduce", 8, "Tree", "LL")
    assert (second.algorithm, second.protocol, second.channels) == ("Ring", "LL128", 12)
    assert second.total_bytes(16) == 65536 * 16 and first.total_bytes(16) == 8
    (entries,) = log.tables
    assert len(entries) == 5 * 7 * 3
    of = {(each.collective, each.algorithm, each.protocol): each for each in entries}
    ring = of["AllReduce", "Ring", "Simple"]  # row 4, column 5
    assert (ring.latency_us, ring.bandwidth) == (9.0, 10.5)
    assert of["AllReduce", "Ring", "LL128"].bandwidth == 0
    assert of["Reduce", "PAT", "Simple"].latency_us == 3.0  # row 1, column 2 of its block


def test_older_versions(tmp_path: Path) -> None:
    log = read(f"{PREFIX}AllGather: 1048576 Bytes -> Algo 1 proto 2 time 286.2\n", tmp_path)  # 2.23
    assert log.choices[0].total_bytes(16) == 1048576 and log.choices[0].time_us == 286.2
    log = read(f"[0] {PREFIX}256 Bytes -> Algo 0 proto 0 time 25.229528\n", tmp_path)  # 2.20 to 2.22
    assert (log.choices[0].collective, log.choices[0].algorithm, log.choices[0].protocol) == (None, "Tree", "LL")


def test_two_tables_are_both_kept(tmp_path: Path) -> None:
    lines = [PREFIX + line for line in [*table(), *table(2.0), *table()]]
    assert len(read("\n".join([*lines, LOG[-2]]), tmp_path).tables) == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("AllReduce: 8 Bytes -> Algo RNIG proto LL channel{Lo..Hi}={0..0}", "run.log:1: algorithm 'RNIG': expected"),
        ("AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={3..0}", "damaged"),
        (f"AllReduce: 8 Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..{'1' * 5000}}}", "5000 digits"),
        (f"8 Bytes -> Algo 1 proto 0 time 1.0\nh NCCL INFO comm 0x1 rank 0 nRanks {'1' * 5000}", "5000 digits"),
        ("8 Bytes -> Algo 1 proto 0 time 1.2.3", "'1.2.3' is no number"),
        (
            "8 Bytes -> Algo 1 proto 0 time 1.0\nh NCCL INFO   Algorithm   |  Tree  |\n"
            "h NCCL INFO AllReduce | 1.0/ 2.0 | 1.0/ 2.0 | ../ 2.0 |",
            "run.log:3: '..' is no number",
        ),
        ("AllReduce: 8 Bytes -> Algo 9 proto 0 time 1.0", "no algorithm 9"),
        ("Connected all rings", "NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING"),
    ],
)
def test_what_is_refused(line: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=expected):
        read(PREFIX + line, tmp_path)


@given(st.data())
def test_mutations_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = "\n".join(LOG)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = at + data.draw(st.sampled_from([0, 1, 5, 200, len(text)]))
        text = (
            text[:at] + data.draw(st.text(max_size=4) | st.sampled_from(["0", "/", "|", "\n", "NCCL"])) + text[until:]
        )
    try:
        log = read(text, tmp_path_factory.getbasetemp())
        assert log.choices and all(each.size_bytes >= 0 for each in log.choices)
    except HocketError as error:
        assert "run.log" in str(error)


@given(st.sampled_from(["Tree", "Ring", "NVLSTree"]), st.sampled_from(["LL", "LL128", "Simple"]), st.integers(0, 64))
def test_choices_are_written_as_they_are_read(algorithm: str, protocol: str, channels: int) -> None:
    choice = NcclChoice(algorithm, protocol, channels)
    assert read_choice(choice.name) == read_choice(choice.name.lower()) == choice


@pytest.mark.parametrize("text", ["ring", "ring/ll256", "rnig/ll", "ring/ll/0", "ring/ll/65", "ring/ll/x", ""])
def test_choices_that_are_none(text: str) -> None:
    with pytest.raises(FormatError):
        read_choice(text)


@pytest.mark.parametrize(
    ("variables", "collective", "expected"),
    [
        ({"NCCL_ALGO": "ring", "NCCL_PROTO": "ll"}, "AllReduce", "Ring/LL"),
        ({"NCCL_ALGO": "ring"}, "AllReduce", None),  # three protocols are left
        ({"NCCL_PROTO": "^LL,LL128"}, "Broadcast", "Ring/Simple"),  # broadcasts have rings alone
        ({"NCCL_ALGO": "allreduce:nvls"}, "AllReduce", "NVLS/Simple"),  # which has one protocol
        ({"NCCL_ALGO": "allreduce:nvls"}, "AllGather", "free"),
        ({"NCCL_ALGO": "ring"}, "Reduce", "free"),
        ({"NCCL_BUFFSIZE": "1"}, "AllReduce", "free"),
        ({"NCCL_MAX_NCHANNELS": "8"}, "AllReduce", None),
        ({"NCCL_PROTO": "LL", "NCCL_MIN_CTAS": "8", "NCCL_MAX_CTAS": "8"}, "Reduce", "Ring/LL/8"),
        ({"NCCL_PROTO": "LL", "NCCL_MIN_CTAS": "4", "NCCL_MAX_CTAS": "8"}, "Reduce", None),
    ],
)
def test_what_variables_leave(variables: dict[str, str], collective: str, expected: str | None) -> None:
    left = forced(variables, collective, "here")
    assert (left.choice.name if left.choice else "free" if left.free else None) == expected
