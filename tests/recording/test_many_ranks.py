"""What thousands of ranks would make slow: nothing is done for each rank that looks at all of them."""

import sys
from collections import Counter
from pathlib import Path

from hocket.bench.merge_scale import make_streams
from hocket.recording.folder import stream_files, stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording
from hocket.recording.segments import SegmentedStream, segment_paths
from hocket.recording.stream import record

_listed: Counter[str] = Counter()


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.scandir":
        _listed[str(arguments[0])] += 1


sys.addaudithook(_hear)


def test_the_folder_of_streams_is_listed_once_for_all_ranks(tmp_path: Path) -> None:
    make_streams(tmp_path, 24, 100)
    _listed.clear()
    assert len(merge(tmp_path).ranks) == 24
    assert _listed[str(stream_path(tmp_path, 0).parent)] <= 2, "pathlib may look twice, but not for each rank"


def test_files_that_a_cap_drops_between_listing_and_reading_are_passed_over(tmp_path: Path) -> None:
    make_streams(tmp_path / "made", 8, 200)
    lines = stream_path(tmp_path / "made", 0).read_text().splitlines(keepends=True)
    stream = SegmentedStream(stream_path(tmp_path, 0))
    kept = ("meta", "group", "clock")
    for line in lines:
        (stream.keep if line.startswith(tuple(f'{{"k":"{kind}"' for kind in kept)) else stream.write)(line)
        if line.startswith('{"k":"step","n":0'):
            stream.begin_part("", 1)
            for shape in filter(lambda line: line.startswith('{"k":"shape"'), lines):
                stream.write(shape)
    stream.write(record("end", t=1, ok=True))
    stream.close()
    (path, files), *others = stream_files(tmp_path).items()
    assert not others
    assert files == segment_paths(path)
    assert len(files) == 2
    assert len(read_recording(path, "", files)) == 200
    files[0].unlink()
    assert len(read_recording(path, "", files)) == 100
