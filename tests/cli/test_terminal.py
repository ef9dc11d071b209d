"""Work that takes longer than two seconds tells a terminal that it goes on; what is piped stays quiet."""

import os
import pty
import subprocess
import sys

WORK = """
import sys, time
from hocket.cli.terminal import Terminal
terminal = Terminal()
with terminal.waiting("trace validate"):
    time.sleep(float(sys.argv[1]))
terminal.note("done")
"""


def seen_on_a_terminal(seconds: float) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", WORK, str(seconds)], stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # as the other side is closed
                break
            said += part
        os.close(ours)
    assert process.returncode == 0
    return said.decode()


def test_a_terminal_is_told_that_it_goes_on() -> None:
    said = seen_on_a_terminal(3.2)
    assert "\r\x1b[Ktrace validate, " in said
    assert said.endswith("\r\x1b[Kdone\r\n")  # the line is gone when the work is done


def test_short_work_and_pipes_are_quiet() -> None:
    assert seen_on_a_terminal(0.1) == "done\r\n"
    done = subprocess.run([sys.executable, "-c", WORK, "2.2"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "done\n")
