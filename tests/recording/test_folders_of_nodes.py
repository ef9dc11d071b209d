"""A job whose nodes share no folder is merged from the folders of all."""

import shutil
from pathlib import Path

import pytest
from faulty_streams import write_job
from streams import meta, write

import hocket
from hocket.base.errors import FormatError, RequestError
from hocket.recording.merge import merge

RANKS = 9


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def nodes(folder: Path, job: Path, count: int) -> list[Path]:
    """The job's streams in so many folders."""
    found = [folder / f"node{number}" for number in range(count)]
    for number, node in enumerate(found):
        (node / "stream").mkdir(parents=True)
        for path in sorted((job / "stream").glob("rank*.stream")):
            if int(path.stem.removeprefix("rank")) * count // RANKS == number:
                shutil.copy2(path, node / "stream")
    return found


@pytest.fixture
def job(tmp_path: Path) -> Path:
    write_job(tmp_path / "job", seed=2, ranks=RANKS)
    merge(tmp_path / "job")
    return tmp_path / "job"


def test_folders_of_nodes_in_any_order_give_what_one_folder_gives(tmp_path: Path, job: Path) -> None:
    one, two, three = nodes(tmp_path, job, 3)
    hocket.collect_merge(str(two), others=[str(three), str(one)], output=str(tmp_path / "traces"), jobs=2)
    assert files(tmp_path / "traces") == files(job)
    assert not list(one.glob("*.et"))


def test_ranks_of_nodes_that_were_not_given_are_missing(tmp_path: Path, job: Path) -> None:
    one, _, three = nodes(tmp_path, job, 3)
    found = merge(one, others=[three], output=tmp_path / "traces")
    assert set(found.absent) >= {3, 4, 5}


def test_a_rank_in_two_folders_is_refused(tmp_path: Path, job: Path) -> None:
    one, two, _ = nodes(tmp_path, job, 3)
    rank = sorted((one / "stream").iterdir())[0]
    shutil.copy2(rank, two / "stream")
    with pytest.raises(FormatError, match=f"has rank {rank.stem.removeprefix('rank')}, which .*node0 has too"):
        merge(one, others=[two], output=tmp_path / "traces")


def test_another_jobs_folder_is_refused(tmp_path: Path, job: Path) -> None:
    one, _, _ = nodes(tmp_path, job, 3)
    write(tmp_path / "other", 4, meta(4, RANKS, job="k"))
    with pytest.raises(FormatError, match=r"other: another job than that in .*node0 \(k and j\)"):
        merge(one, others=[tmp_path / "other"], output=tmp_path / "traces")


def test_a_folder_without_streams_is_named(tmp_path: Path, job: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="empty/stream: no rank"):
        merge(job, others=[tmp_path / "empty"], output=tmp_path / "traces")


def test_several_folders_need_one_for_the_traces(tmp_path: Path, job: Path) -> None:
    one, two, _ = nodes(tmp_path, job, 3)
    with pytest.raises(RequestError, match="several folders: name one"):
        hocket.collect_merge(str(one), others=[str(two)])
