"""How much memory the process has taken, and how much it could have."""

import os
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["available_bytes", "machine_bytes", "peak_rss_bytes"]

_CGROUPS = Path("/sys/fs/cgroup")


def peak_rss_bytes() -> int:
    """The most physical memory the process has had at once so far, in bytes.

    Linux' own count of the present program: `getrusage` also counts what the process was before it became this program,
    so that a large parent shows through.
    """
    peak = _field(Path("/proc/self/status"), "VmHWM")
    if peak is not None:
        return peak
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024


def machine_bytes() -> int:
    """What the machine has, or the container that the process is in."""
    limits = [limit for limit, _ in _groups()]
    return min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *limits])


def available_bytes() -> int:
    """What the process could take now without swapping: of the machine, of the containers that it is in, and of the
    limits that were set for it (`ulimit -v`, `-d`)."""
    free = [max(0, limit - used) for limit, used in _groups()]
    status = Path("/proc/self/status")
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            free.append(max(0, limit - (_field(status, name) or 0)))
    available = _field(Path("/proc/meminfo"), "MemAvailable")
    return min([machine_bytes() if available is None else available, *free])


def _groups() -> Iterator[tuple[int, int]]:
    """Limit and use of each control group with a limit that the process is in; pages of files that could be dropped do
    not count as used."""
    listed = Path("/proc/self/cgroup")
    for line in listed.read_text(encoding="ascii", errors="replace").splitlines() if listed.is_file() else ():
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, most, used = (
            (_CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            if controllers
            else (_CGROUPS, "memory.max", "memory.current")
        )
        folder = top / name.lstrip("/")
        for group in (folder, *folder.parents):
            if group.is_relative_to(top):
                with suppress(OSError, ValueError):  # "max": no limit
                    statistics = (group / "memory.stat").read_text(encoding="ascii")
                    idle = re.search(r"^(?:total_)?inactive_file ([0-9]+)$", statistics, re.MULTILINE)
                    in_use = int((group / used).read_text()) - (int(idle[1]) if idle else 0)
                    yield int((group / most).read_text()), in_use


def _field(path: Path, name: str) -> int | None:
    """The bytes after `name:` in a file of the kernel's, which counts in kB."""
    text = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    found = re.search(rf"^{name}:\s*([0-9]+) kB", text, re.MULTILINE)
    return None if found is None else int(found[1]) * 1024
