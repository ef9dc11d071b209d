"""Readers of benchmarks' output: what they give, and what they refuse."""

import json
from pathlib import Path

import pytest
from benchmark_outputs import OSU, PERFTEST_BW, PERFTEST_LAT, json_output, new_table, old_table
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError
from hocket.calibration import Assumed, read_measurements

ROWS = [(8 << (3 * step), 20 + (8 << (3 * step)) / 2e5) for step in range(8)]  # 8 B to 16 MiB at 200 GB/s
TEXTS = {
    "new": new_table(ROWS),
    "old": old_table(ROWS),
    "json": json.dumps(json_output(ROWS)),
    "bw": PERFTEST_BW,
    "lat": PERFTEST_LAT,
    "osu": OSU,
    "csv": "collective,dtype,nranks,nnodes,size_bytes,oop_time_us,oop_algbw_GBs,oop_busbw_GBs,ip_time_us,ip_algbw_GBs,"
    "ip_busbw_GBs\nall_reduce,float32,16,2,8388608,407.5,20.59,38.60,405.5,20.69,38.79\n",
    "run": json.dumps(
        {"collective": "all_reduce", "backend": "gloo", "ranks": 4, "wrong": 0}
        | {"rows": [{"size_bytes": 64, "out_of_place": {"time_ps": 9, "wrong": 0}, "in_place": None}]}
    ),
    "replay": json.dumps(
        {"format": "hocket.replay", "version": 1}
        | {"operations": [{"kind": "all_reduce", "ranks": [0, 1], "size_bytes": 64, "median_ps": 9}]}
    ),
}
SAID = Assumed(ranks=16, nodes=2)


def read(text: str, folder: Path, assumed: Assumed = SAID, partial: bool = False):
    path = folder / "measured"
    path.write_text(text, encoding="utf-8", newline="")
    return read_measurements([path], assumed, partial=partial)


@pytest.mark.parametrize("name", ["new", "old", "json"])
def test_nccl_tests_of_all_versions_say_the_same(name: str, tmp_path: Path) -> None:
    found = read(TEXTS[name], tmp_path, Assumed())
    out_of_place = [each for each in found if not each.in_place]
    assert [each.size_bytes for each in out_of_place] == [size for size, _ in ROWS]
    assert {(each.kind, each.ranks, each.nodes) for each in found} == {("all_reduce", 16, 2)}
    for each, (_, time) in zip(out_of_place, ROWS, strict=True):
        assert each.time_ps == pytest.approx(time * 1e6, abs=0.5e6 if time >= 1e4 else 0.05e6)
    # busbw = size / time x 2 (16 - 1) / 16
    last = out_of_place[-1]
    assert last.busbw == pytest.approx(last.size_bytes * 1e12 / last.time_ps * 1.875)


def test_launchers_prefixes_and_other_lines_are_passed_over(tmp_path: Path) -> None:
    plain = read(TEXTS["new"], tmp_path)
    for prefix in ("0: ", "[1,0]<stdout>:", "2026-11-22T10:00:00.123456Z "):
        lines = [prefix + line for line in TEXTS["new"].splitlines()]
        lines.insert(len(lines) // 2, prefix + "node-a:400:455 [0] NCCL INFO Connected all rings")
        found = read("\n".join(lines) + "\n", tmp_path)
        assert [(each.size_bytes, each.time_ps) for each in found] == [
            (each.size_bytes, each.time_ps) for each in plain
        ]


def test_several_runs_of_one_file(tmp_path: Path) -> None:
    gathered = new_table(ROWS[2:], 15 / 16, "all_gather_perf_mpi", "none")
    found = read(TEXTS["new"] + gathered, tmp_path)
    assert [each.kind for each in found] == ["all_reduce"] * 16 + ["all_gather"] * 12


def test_perftest_and_osu(tmp_path: Path) -> None:
    small, large = read(PERFTEST_BW, tmp_path)
    assert (small.kind, small.ranks, small.nodes, small.stream) == ("message", 2, 2, True)
    assert large.algbw == pytest.approx(394.52e9 / 8)  # Gbit/s
    (both_ways, _) = read(PERFTEST_BW.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW"), tmp_path)
    assert both_ways.algbw == pytest.approx(390.10e9 / 16)
    (latency,) = read(PERFTEST_LAT, tmp_path)
    assert (latency.size_bytes, latency.time_ps, latency.stream) == (2, 1_910_000, False)
    mebibytes = PERFTEST_BW.replace("Gb/sec", "MB/sec").replace("391.20", "46634").replace("390.10", "46503.6")
    mebibytes = mebibytes.replace("394.68", "47049.5").replace("394.52", "47030.4")
    assert read(mebibytes, tmp_path)[1].algbw == pytest.approx(47030.4 * 2**20)
    first, _ = read(OSU, tmp_path)
    assert (first.kind, first.ranks, first.size_bytes, first.time_ps) == ("all_reduce", 16, 1024, 5_310_000)


@pytest.mark.shared
def test_public_tables(shared: Path) -> None:
    found = read_measurements(sorted((shared / "nccl_tests").glob("*.csv")))
    assert len(found) == 554
    fastest = max(
        (each for each in found if each.kind == "all_reduce" and each.nodes == 1), key=lambda each: each.busbw
    )
    assert fastest.size_bytes == 2**34 and fastest.busbw == pytest.approx(842.9e9, rel=1e-3)  # 16 GiB on eight B200


def replaced(old: str, new: str, name: str = "new") -> str:
    text = TEXTS[name].replace(old, new)
    assert text != TEXTS[name]
    return text


def test_what_is_refused_names_line_and_remedy(tmp_path: Path) -> None:
    row = next(line for line in TEXTS["new"].splitlines() if line.lstrip().startswith("16777216"))
    time = row.split()[5]
    cut = TEXTS["new"][: TEXTS["new"].index("# Out of bounds")]
    refused = {
        "cut off.*--partial": cut,
        "another run begins": cut + TEXTS["new"],
        "two outputs are mixed": TEXTS["new"].replace(row, row + "\n" + row),
        "11 fields where the header has 13": TEXTS["new"].replace(row, row[:-10]),
        "unknown column 'i_avg'": replaced("  redop    root     time", "  redop    root  i_avg   time"),
        "without -C": replaced(" time   algbw", " cputime   algbw"),
        r"units.*\(ms\)": replaced("(us)  (GB/s)", "(ms)  (GB/s)"),
        "times look like ms": replaced(f"  {time}  ", f"  {float(time) / 1000:.4f}  "),
        "look like Gbit/s": "\n".join(
            line.replace(line.split()[6], f"{float(line.split()[6]) * 8:.2f}", 1) if line == row else line
            for line in TEXTS["new"].splitlines()
        ),
        "wrong values": replaced("Out of bounds values : 0", "Out of bounds values : 3"),
        "unknown data type": replaced("float ", "flaot "),
        "say --ranks and --nodes": "\n".join(x for x in TEXTS["new"].splitlines() if "Rank" not in x),
        "header": "\n".join(x for x in TEXTS["new"].splitlines() if "size " not in x),
        "--collective": replaced(" sum ", " none ", "old"),
    }
    for expected, text in refused.items():
        with pytest.raises(FormatError, match=expected) as caught:
            read(text, tmp_path, Assumed())
        assert "measured" in str(caught.value)
    assert len(read(cut, tmp_path, partial=True)) == 16


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda content: content | {"version": 9}, "version 9"),
        (lambda content: {key: value for key, value in content.items() if key != "end_time"}, "cut off"),
        (lambda content: content | {"out_of_bounds": {"count": 2, "okay": "false"}}, "wrong values"),
        (lambda content: content["results"][3]["out_of_place"].update(time=1.0) or content, r"results\[3\].*algbw"),
        (lambda content: content["results"][3]["in_place"].update(gbs=1.0) or content, "unknown field `gbs`"),
    ],
)
def test_json_that_is_refused(change, expected: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=expected):
        read(json.dumps(change(json_output(ROWS))), tmp_path)


def test_other_formats_that_are_refused(tmp_path: Path) -> None:
    for text, expected in (
        (TEXTS["csv"].replace("oop_time_us", "oop_time_ms"), "oop_time_ms"),
        (TEXTS["csv"].rstrip("\n"), "cut off"),
        (TEXTS["csv"].replace("20.59", "2059"), "measured:2: algbw"),
        (PERFTEST_BW.replace("BW average[Gb/sec]", "BW average[GB/sec]"), "unknown unit"),
        (PERFTEST_BW.replace("394.52", "49.31"), "message rate"),
        (OSU.replace("Avg Latency(us)", "Avg Latency(ms)"), "expected the column"),
        ("hello\n", "known: CSV .*, nccl-tests or rccl-tests, "),
        ("{", "cut off"),
    ):
        with pytest.raises(FormatError, match=expected):
            read(text, tmp_path)


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_mutations_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = TEXTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = at + data.draw(st.sampled_from([0, 1, 5, 200, len(text)]))
        text = (
            text[:at]
            + data.draw(st.text(max_size=4) | st.sampled_from(["0", "9e99", "-", "\n", "#", '"']))
            + text[until:]
        )
    try:
        for each in read(text, folder, partial=data.draw(st.booleans())):
            assert each.time_ps > 0 and each.size_bytes > 0 and each.ranks >= 2 and each.nodes >= 1
    except HocketError as error:
        assert str(folder) in str(error)
