"""`hocket simulate` as a user runs it."""

import gzip
import json
from functools import partial
from pathlib import Path

import in_process
import pytest
from browsing import text_of

from hocket.base.units import format_time
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
XML = Path(__file__).parents[2] / "data" / "msccl_xml" / "all_reduce_all_pairs_4.xml"


hocket = partial(in_process.hocket, "simulate")


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    builders = [TraceBuilder(), TraceBuilder()]
    for builder in builders:
        work = builder.add_comp("forward", duration_ns=2_000)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 2_000, deps=[work])
    folder = tmp_path / "traces"
    write_traces(folder, TraceSet(tuple(builder.build() for builder in builders)))
    return folder


def test_traces_leave_a_prediction_and_a_timeline(traces: Path, tmp_path: Path) -> None:
    out, timeline = tmp_path / "out.json", tmp_path / "t.json.gz"
    done = hocket(traces, "--topology", PAIR, "--json", out, "--timeline", timeline)
    assert done.returncode == 0, done.stderr
    # 2 us of computation, then 2 steps of 1 us latency and 1 us for 1000 B.
    assert "time                   6 us" in done.stdout
    assert "exposed communication  4 us on rank 0" in done.stdout
    prediction = json.loads(out.read_text())
    assert prediction["format"] == "hocket.prediction"
    assert prediction["finish_ns"] == {"0": 6_000, "1": 6_000}
    assert prediction["exposed_ns"] == {"0": 4_000, "1": 4_000}
    assert prediction["collectives"][0]["algorithm"] == "ring"
    assert sum(prediction["links"]["bytes"]) == 4_000
    with gzip.open(timeline) as file:
        assert json.load(file)["traceEvents"]


def test_several_topologies_are_compared(traces: Path) -> None:
    done = hocket(traces, "--topology", PAIR, "--topology", "ring:2,bandwidth=2GB/s,latency=1us")
    assert done.returncode == 0, done.stderr
    # Twice the bandwidth: 2 + 2 * (1 + 0.5) = 5 us instead of 6.
    assert "0.833x" in done.stdout


def test_a_schedule_file_and_a_collective_take_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    save(build("ring", Collective(Kind.ALL_REDUCE, 2, 2_000), load(PAIR)), path)
    collective = hocket("all_reduce", "--size", "2000", "--topology", PAIR, "--algorithm", "ring")
    for done in (hocket(path), collective):
        assert done.returncode == 0, done.stderr
        assert "time                   4 us" in done.stdout


def test_links_go_by_their_ends_and_class() -> None:
    done = hocket("broadcast", "--size", "1MiB", "--topology", "dgx-h100:gpus=2", "--library", "none")
    assert "rank 0 -> switch 2 (nvlink)" in done.stdout
    done = hocket("broadcast", "--size", "1MiB", "--topology", PAIR)
    assert "rank 0 -> rank 1 (dimension 0)" in done.stdout


def test_free_sharing_is_said_aloud() -> None:
    switch = "switch:4,bandwidth=1GB/s,latency=1us"
    done = hocket(
        "all_gather", "--size", "4MB", "--topology", switch, "--algorithm", "direct", "--model", "uncontended"
    )
    assert done.returncode == 0
    assert "NOT PHYSICAL" in done.stderr


def test_many_messages_pass_a_trunk_at_once(tmp_path: Path) -> None:
    """A trunk that is 8 times as wide as a NIC is not held by each message for the time of its NIC."""
    fabric = "dgx-h100:nodes=4,fabric=fat_tree,leaf=2,oversubscription=2"
    done = hocket(
        *["all_to_all", "--size", "64MiB", "--library", "none", "--json"], str(tmp_path / "x.json"), "-t", fabric
    )
    assert (done.returncode, "NOT PHYSICAL" in done.stderr) == (0, False), done.stderr
    told = json.loads((tmp_path / "x.json").read_text())
    trunk_ns = 16 * 16 * (2 << 20) / 400  # from the 16 ranks of a leaf to those of the other, at 400 GB/s
    assert trunk_ns * 990 < told["bound_ps"] <= told["time_ps"]


def test_deadlock_has_its_exit_code(tmp_path: Path) -> None:
    builders = [TraceBuilder(), TraceBuilder()]
    builders[0].add_collective("gradients", CollectiveType.ALL_REDUCE, 2_000)
    builders[1].add_comp("forward", duration_ns=1)
    write_traces(tmp_path, TraceSet(tuple(builder.build() for builder in builders)))
    done = hocket(tmp_path, "--topology", PAIR)
    assert done.returncode == 5
    assert "rank 0, node 0 (gradients) waits in all_reduce" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["all_reduce", "--size", "1MiB"], 2, "--topology is missing"),
        (["all_reduce", "--topology", PAIR], 2, "--size is missing"),
        ([str(XML), "--topology", PAIR], 2, "is a program for any size and network: add --size, such as"),
        ([str(XML), "--size", "1MiB"], 2, "is a program for any size and network: add --topology"),
        (["all_reduce", "--size", "1MiB", "--topology", PAIR, "--late", "1=1us"], 3, "give --algorithm nccl on a"),
        (["absent", "--topology", PAIR], 3, "absent"),
        (["absent.schedule"], 3, "absent.schedule"),
        (
            ["all_reduce", "--size", "1MiB", "--topology", PAIR, "--model", "magic"],
            2,
            "known: analytical, bound, congestion, flow, ns3, packet, uncontended",
        ),
        (["all_reduce", "--size", "1 parsec", "--topology", PAIR], 2, "--size 1 parsec"),
        (
            ["all_reduce", "--size", "1MiB", "--topology", PAIR, "--queueing", "0=random"],
            2,
            "known: fifo, lifo, priority",
        ),
        (
            ["all_reduce", "--size", "1MiB", "--topology", PAIR, "--queueing", "lifo", "--model", "flow"],
            2,
            "disciplines are for model congestion",
        ),
        (
            ["all_reduce", "--size", "1MiB", "--topology", PAIR, "--overlap-slowdown", "1.5"],
            2,
            "all_reduce has no computation",
        ),
        (["all_reduce", "--size", "1MiB", "--topology", PAIR, "--switching", "7=cut_through"], 2, "are 0"),
        (["all_to_all", "--size", "1MiB", "--topology", PAIR, "--algorithm", "ring"], 3, "ring does"),
    ],
)
def test_bad_use_is_one_clear_error(arguments: list[str], code: int, message: str) -> None:
    done = hocket(*arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_rank_is_named(traces: Path) -> None:
    (traces / "trace.0.et").unlink()
    done = hocket(traces, "--topology", PAIR)
    assert done.returncode == 3
    assert "rank 0" in done.stderr


def test_a_misspelt_collective_is_recognized() -> None:
    done = hocket("allreduc", "--size", "1MiB", "--topology", PAIR)
    assert done.returncode == 3
    assert done.stderr.startswith("error: allreduc: no trace here") and "did you mean 'all_reduce'?" in done.stderr


def test_traces_have_their_own_sizes(traces: Path) -> None:
    done = hocket(traces, "--size", "1MiB", "--topology", PAIR)
    assert done.returncode == 2
    assert "--size is for a collective" in done.stderr


def test_links_that_carried_nothing_are_not_among_the_busiest() -> None:
    # A broadcast from rank 0 over a line of three uses two of the four links.
    done = hocket("broadcast", "--size", "1kB", "--topology", "mesh:3,bandwidth=1GB/s,latency=1us")
    assert done.returncode == 0, done.stderr
    links = [line.split(" (")[0].strip() for line in done.stdout.splitlines() if "messages" in line]
    assert sorted(links) == ["rank 0 -> rank 1", "rank 1 -> rank 2"]


def test_a_routing_without_a_choice_is_said() -> None:
    arguments = ("all_to_all", "-s", "1MiB", "--library", "none", "-t")
    one, note = "dgx-h100:nodes=4,fabric=fat_tree,leaf=2", "--routing changes nothing; give the fabric spines=N"
    assert note in hocket(*arguments, one, "--routing", "ecmp").stdout
    assert note not in hocket(*arguments, one).stdout
    assert note not in hocket(*arguments, f"{one},spines=4", "--routing", "ecmp").stdout


FAT_TREE = "fat_tree:2x2,spines=2,bandwidth=50GB/s,latency=500ns"


def test_what_people_read_says_the_routing(tmp_path: Path) -> None:
    arguments = ("all_to_all", "-s", "1MiB", "--algorithm", "direct", "-t", FAT_TREE)
    said = "model congestion, cut-through, routing spray"
    page, first, second = (tmp_path / name for name in ("page.html", "first.json", "second.json"))
    assert said in hocket(*arguments, "--json", first, "--report", page).stdout
    assert "model congestion, routing spray" in page.read_text()
    hocket(*arguments, "--routing", "ecmp", "--json", second)
    heads = in_process.hocket("compare", first, second).stdout.splitlines()[:2]
    assert [head.rpartition(", ")[2] for head in heads] == ["routing spray", "routing ecmp"]
    rows = hocket(*arguments, "-t", "switch:4,bandwidth=50GB/s,latency=500ns").stdout.splitlines()
    assert [row.split()[-1] for row in rows[:3]] == ["routing", "spray", "shortest"]
    curves = hocket(*arguments, "-s", "1MiB..2MiB:2", "--csv", tmp_path / "curves.csv").stdout
    assert curves.startswith(f"all_to_all on {FAT_TREE}, direct, routing spray\n")
    assert (tmp_path / "curves.csv").read_text().splitlines()[1].split(",")[4:6] == ["direct", "spray"]
    # two ranks behind a switch have one path: nothing to say
    assert "routing" not in hocket(*arguments[:-1], "switch:2,bandwidth=50GB/s,latency=500ns").stdout


def test_routes_of_a_schedule_are_its_own(tmp_path: Path) -> None:
    save(build("direct", Collective(Kind.ALL_TO_ALL, 4, 1 << 20), load(FAT_TREE)), tmp_path / "direct.schedule")
    done = hocket(tmp_path / "direct.schedule", "--routing", "ecmp")
    assert done.returncode == 2 and "routes are the schedule's own: drop --routing" in done.stderr
    asked = ("all_to_all", "-s", "1MiB", "-t", FAT_TREE, "--algorithm")
    for before in ((), asked):
        done = hocket(*before, tmp_path / "direct.schedule", "--json", tmp_path / "found.json")
        assert "routes of the schedule" in done.stdout
        assert json.loads((tmp_path / "found.json").read_text())["routing"] is None


def test_a_schedule_names_the_options_that_it_takes_none_of(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    save(build("ring", Collective(Kind.ALL_REDUCE, 2, 2_000), load(PAIR)), path)
    done = hocket(path, "--topology", PAIR)
    assert done.returncode == 2
    assert done.stderr.endswith("algorithm of its own: drop --topology\n")


def test_a_schedule_says_why_its_own_time_is_another(tmp_path: Path) -> None:
    page, path = tmp_path / "page.html", tmp_path / "any.schedule"
    for spec, algorithm, differs in (("dgx-h100:nodes=2", "hierarchical", True), (PAIR, "ring", False)):
        topology = load(spec)
        collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, 2**24, topology.num_ranks)
        schedule = retime(build(algorithm, collective, topology))
        save(schedule, path)
        done, own = hocket(path, "--report", page), format_time(schedule.time_ps)
        assert (own in done.stdout.partition("bound")[0]) != differs
        for said in (done.stdout, text_of(page.read_text())):
            assert (f"the schedule's own time is {own}: " in said) == differs


def test_a_program_for_more_ranks_than_there_are_names_both() -> None:
    done = hocket(XML, "--topology", PAIR, "--size", "1MiB")
    assert done.returncode == 3
    assert "is for 4 ranks, ring:2," in done.stderr
    assert "has 2: choose a topology with at least 4 ranks" in done.stderr
