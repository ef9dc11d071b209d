"""A child that a rank forked drops what it would write, whatever the rank's other threads were at."""

import subprocess
import sys
from pathlib import Path

import pytest

# Another thread of the parent holds the stream's lock while the process forks; the child writes all there is to write.
SCRIPT = """
import os, sys, threading
from pathlib import Path
from hocket.recording.segments import SegmentedStream
from hocket.recording.stream import MappedStream
stream = {"whole": MappedStream, "segments": SegmentedStream}[sys.argv[1]](Path(sys.argv[2]) / "rank0.stream")
os.register_at_fork(after_in_child=stream.abandon)
stream.keep("{}\\n")
held, forked = threading.Event(), threading.Event()
def hold():
    with stream.lock:
        held.set()
        forked.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    with stream.lock:
        stream.make_room()
    stream.write("c\\n")
    stream.keep("{}\\n")
    stream.forget("{}\\n")
    stream.end_step(1, 2)
    stream.begin_part("1", 2)
    stream.close()
    os._exit(7)
forked.set()
thread.join()
stream.write("p\\n")
stream.close()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("kind", ["whole", "segments"])
def test_a_child_does_not_wait_for_a_lock_that_nobody_has_there(tmp_path: Path, kind: str) -> None:
    finished = subprocess.run([sys.executable, "-c", SCRIPT, kind, str(tmp_path)], timeout=60, capture_output=True)
    assert finished.returncode == 7, finished.stderr
    (path,) = tmp_path.iterdir()
    assert path.read_text().splitlines()[-1] == "p" and "c\n" not in path.read_text()
