"""What ranks have in common where a cap took a part of some."""

from pathlib import Path

import in_process
import streams
from streams import END, done, group, meta, wait

from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.segments import SegmentedStream, segment_paths


def test_a_group_that_a_cut_rank_has_no_more_leaves_all(tmp_path: Path) -> None:
    """Two ranks without steps call a group once, at their begin, which the cap of one of them takes away."""
    caps = (1 << 16, 1 << 24)
    for rank, cap in enumerate(caps):
        stream = SegmentedStream(stream_path(tmp_path, rank), cap)
        for line in (meta(rank), group([0, 1]), group([0, 1], 1, "rare", 1)):
            stream.keep(streams.lines(line))
        described, shape = -1, -1
        for number in range(6000):
            stream.make_room()
            if described != stream.generation or number == 1:
                described, shape = stream.generation, shape + 1
                stream.write(streams.lines(streams.call(shape, 0, group=int(number == 0))[:1]))
            t, sequence = 1000 * number, max(0, number - 1)
            lines = f"c {number} {shape} {sequence} {t} 1", done(number, t + 500), wait(number, t + 100, t + 500)
            stream.write(streams.lines(*lines))
        stream.write(streams.lines(END))
        stream.close()
    assert segment_paths(stream_path(tmp_path, 1))[0].name == "rank1.000000.stream"
    merged = in_process.hocket("collect", "merge", tmp_path, "--strict")
    assert merged.returncode == 0, merged.stdout + merged.stderr
    summary = merge(tmp_path)
    assert summary.problems() == ["all ranks recorded, all collectives complete, no disagreement between ranks"]
    assert summary.kinds[0].count > 400
