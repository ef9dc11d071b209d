"""How much memory the process has taken."""

import re
import resource
import sys
from pathlib import Path

__all__ = ["peak_rss_bytes"]


def peak_rss_bytes() -> int:
    """The most physical memory the process has had at once so far, in bytes.

    Linux' own count of the present program: `getrusage` also counts what the process was before it became this program,
    so that a large parent shows through.
    """
    status = Path("/proc/self/status")
    text = status.read_text(encoding="ascii", errors="replace") if status.is_file() else ""
    peak = re.search(r"VmHWM:\s*([0-9]+) kB", text)
    if peak is not None:
        return int(peak[1]) * 1024
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024
