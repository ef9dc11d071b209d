"""How much memory the process has taken."""

import resource
import sys

__all__ = ["peak_rss_bytes"]


def peak_rss_bytes() -> int:
    """The most physical memory the process has had at once so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
