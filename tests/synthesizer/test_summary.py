"""The numbers of a synthesis."""

import subprocess
import sys

# In a process of its own: that of the tests may have had more memory long before.
_ASKED_TWICE = """
import hocket
from hocket.base.memory import peak_rss_bytes

found = hocket.synthesize("all_gather", "ring:4,bandwidth=50GB/s,latency=500ns", "1MiB")
peak = found.numbers[0]["peak_rss_bytes"]
block = bytearray(peak)
block[::4096] = b"x" * len(block[::4096])
print(peak < peak_rss_bytes(), peak == found.numbers[0]["peak_rss_bytes"])
"""


def test_what_was_measured_stays_when_it_is_asked_for_later() -> None:
    command = [sys.executable, "-c", _ASKED_TWICE]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True True\n"
