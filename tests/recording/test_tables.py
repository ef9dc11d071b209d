"""The summary of a recording, for people."""

from pathlib import Path

import in_process
from streams import END, call, done, group, meta, write


def test_members_and_names_of_groups_are_told_whole(tmp_path: Path) -> None:
    evens, name = list(range(0, 64, 2)), "a name\x1b that is longer than what most people would think of"
    for rank in range(64):
        halves = [group(evens, 1, name, 1), call(1, 30, 0, group=1), done(1, 40)] if rank in evens else []
        write(tmp_path, rank, meta(rank, 64), group(list(range(64))), call(0, 10, 0), done(0, 20), *halves, END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout == (tmp_path / "summary.txt").read_text()
    head, world, part, *_ = (line.split("  ") for line in merged.stdout.splitlines()[4:])
    assert [[cell.strip() for cell in row if cell] for row in (head, world, part)] == [
        ["group", "name", "members"],
        ["0", "0", "0-63"],
        ["1", name.replace("\x1b", "\\x1b"), ",".join(map(str, evens))],
    ]
