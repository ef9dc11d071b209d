"""ForestColl's trees as schedules, and files that are none."""

import itertools
import tempfile
from pathlib import Path

import in_process
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import Kind, verify
from hocket.topology import load
from hocket.translator import is_forest, read_file, read_forest

NETWORK = "fully_connected:4,bandwidth=1GB/s,latency=0ns"
#: GPUs of two machines with four in all; the eleventh of a machine comes after its second.
NAMES = ["(0, 'GPU', 2)", "(0, 'GPU', 10)", "(1, 'GPU', 2)", "(1, 'GPU', 10)"]


def forest(shares: tuple[int, ...] = (1, 1)) -> str:
    """A chain from each GPU up, round all of them, and one down, as ForestColl prints them."""
    lines = [f'<Algo nchunkspernode="{sum(shares)}">']
    for root in range(4):
        for index, (share, way) in enumerate(zip(shares, (1, -1), strict=True)):
            order = [NAMES[(root + way * hop) % 4] for hop in range(4)]
            lines.append(f'  <tree root="{order[0]}" index="{index}" nchunks="{share}" height="3">')
            for src, dst in itertools.pairwise(order):
                lines.append(f'    <send src="{src}" dst="{dst}" path="{src},(-1, \'IB\', 0),{dst}"/>')
            lines.append("  </tree>")
    return "\n".join([*lines, "</Algo>", ""])


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("shares", [(1, 1), (2, 3)])
@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE])
def test_trees_do_the_collective(tmp_path: Path, kind: Kind, shares: tuple[int, int]) -> None:
    path = written(tmp_path / "trees.xml", forest(shares))
    chunks = sum(shares)
    size = 4 * chunks * 1000
    schedule = read_forest(path, load(NETWORK), size, kind)
    verify(schedule)
    assert schedule.collective.chunks_per_rank == chunks
    # of each rank's chunks, to three others each
    assert schedule.num_transfers == 4 * chunks * 3 * (2 if kind is Kind.ALL_REDUCE else 1)
    if (kind, shares) == (Kind.ALL_GATHER, (1, 1)):
        # a link carries 3 chunks of 1000 B at 1 GB/s, one after the other
        assert schedule.time_ps == 3 * 1_000_000
    first = schedule.chunk[schedule.src == 0].min() if kind is Kind.ALL_GATHER else 0
    assert first == 0


def test_the_commands(tmp_path: Path) -> None:
    path = written(tmp_path / "trees.xml", forest())

    hocket = in_process.hocket

    on = ("--topology", NETWORK, "--size", "64KiB")
    done = hocket("verify", path, *on)
    assert (done.returncode, "by ForestColl's trees" in done.stdout) == (0, True), done.stderr
    output = tmp_path / "ar.xml"
    done = hocket("translate", path, "--to", "executor", "-o", output, "--collective", "all_reduce", *on)
    assert done.returncode == 0, done.stderr
    assert 'coll="allreduce"' in output.read_text()
    assert not is_forest(output)
    assert hocket("translate", path, "--to", "executor", "-o", tmp_path / "no.xml").returncode == 2
    assert hocket("translate", output, "--to", "rccl", "-o", tmp_path / "no.xml", "-c", "all_gather").returncode == 2
    assert not (tmp_path / "no.xml").exists()


@pytest.mark.parametrize("before", [" " * 4000, "<!-- -->" * 400, "<!--" * 900])
def test_what_is_before_the_first_tag_takes_no_time(before: str, tmp_path: Path) -> None:
    assert not is_forest(written(tmp_path / "other.xml", f"{before}<algo/>"))
    assert is_forest(written(tmp_path / "trees.xml", f" <!-- - --> {forest()}"))


def test_a_forest_is_no_msccl_xml(tmp_path: Path) -> None:
    path = written(tmp_path / "trees.xml", forest())
    assert is_forest(path)
    assert read_file(path).num_ranks == 0


@pytest.mark.parametrize(
    ("old", "new", "kind", "reason"),
    [
        ('nchunks="1"', 'nchunks="0"', FormatError, r'trees.xml:2: <tree>: nchunks="0" is not a number of chunks'),
        ('nchunkspernode="2"', 'nchunkspernode="3"', ScheduleError, "trees of rank 0 carry 2 of its 3 chunks"),
        ("<send ", "<recv ", FormatError, "trees.xml:3: <recv>: expected <Algo> of <tree>s of <send>s"),
        ("</Algo>", "text", FormatError, "trees.xml:42: expected an element"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, kind: type[HocketError], reason: str) -> None:
    path = written(tmp_path / "trees.xml", forest().replace(old, new, 1))
    with pytest.raises(kind, match=reason):
        read_forest(path, load(NETWORK), 8000)


def test_a_tree_is_of_all_ranks(tmp_path: Path) -> None:
    first = forest().splitlines()
    missing = written(tmp_path / "trees.xml", "\n".join(first[:4] + first[5:]))
    with pytest.raises(ScheduleError, match="tree of rank 0 does not reach each of 4 ranks once"):
        read_forest(missing, load(NETWORK), 8000)
    with pytest.raises(FormatError, match=r"trees of 4 GPUs, but .* has 3 ranks"):
        read_forest(missing, load(NETWORK.replace(":4", ":3")), 8000)
    doubled = written(tmp_path / "trees.xml", "\n".join(first[:4] + first[3:]))
    with pytest.raises(FormatError, match=r"trees.xml:5: <send> reaches .*GPU', 2\), which the tree reached before"):
        read_forest(doubled, load(NETWORK), 8000)
    turned = forest().replace(f'src="{NAMES[0]}" dst="{NAMES[1]}"', f'src="{NAMES[2]}" dst="{NAMES[1]}"', 1)
    with pytest.raises(ScheduleError, match="cycle through rank"):
        read_forest(written(tmp_path / "trees.xml", turned), load(NETWORK), 8000)


@given(st.integers(0, 3000), st.integers(0, 40), st.text(alphabet="<>/=\"'19()GPU \n", max_size=4))
def test_damaged_trees_are_read_or_refused(at: int, removed: int, inserted: str) -> None:
    text = forest()
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text[:at] + inserted + text[at + removed :])
        file.flush()
        try:
            verify(read_forest(file.name, load(NETWORK), 8000))
        except HocketError as error:
            assert str(error)
