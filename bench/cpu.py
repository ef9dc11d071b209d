"""Which CPU the figures of a run are of."""

from pathlib import Path

__all__ = ["cpu_model"]


def cpu_model() -> str:
    """The model of the CPU as Linux names it: rates of another are not comparable."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "CPU part") and value.strip():
            return value.strip()
    return "unknown"
