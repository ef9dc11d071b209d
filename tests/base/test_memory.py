"""The peak of the process's memory."""

import subprocess
import sys

from hocket.base.memory import peak_rss_bytes


def test_it_is_at_least_what_was_touched() -> None:
    before = peak_rss_bytes()
    block = bytearray(64 * 2**20)
    block[::4096] = b"x" * len(block[::4096])
    assert peak_rss_bytes() >= min(before, 64 * 2**20)
    assert peak_rss_bytes() >= 64 * 2**20


def test_a_large_parent_does_not_show_through() -> None:
    block = bytearray(256 * 2**20)
    block[::4096] = b"x" * len(block[::4096])
    command = [sys.executable, "-c", "from hocket.base.memory import peak_rss_bytes; print(peak_rss_bytes())"]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(child.stdout) < 200 * 2**20
