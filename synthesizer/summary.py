"""What a synthesized schedule is worth, in numbers and in words."""

from typing import Any

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.synthesizer.synthesis import Synthesized

__all__ = ["describe", "summarize"]


def summarize(synthesis: Synthesized) -> dict[str, Any]:
    """The numbers of a synthesis, named with their units; algbw and busbw as nccl-tests has them.

    `synthesis_seconds`: the search, with the choice of chunks. `peak_rss_bytes`: of the
    process, until the schedule was verified.
    """
    schedule = synthesis.schedule
    collective, bound = schedule.collective, schedule.bound
    assert bound is not None  # Synthesized.of sets one
    any_chunks, time_ps = synthesis.bound_any_chunks, schedule.time_ps
    busy = synthesis.report.link_busy_ps / max(1, time_ps)
    algbw = collective.size_bytes * 10**12 / max(1, time_ps)
    return {
        "collective": collective.name,
        "topology": schedule.topology.name,
        "ranks": collective.num_ranks,
        "size_bytes": collective.size_bytes,
        "chunks_per_rank": collective.chunks_per_rank,
        "blocking": schedule.blocking,
        "collective_time_ns": time_ps / 1000,
        "time_ps": time_ps,
        "bound_ns": bound.time_ps / 1000,
        "bound_ps": bound.time_ps,
        "bound_reason": bound.reason,
        "bound_any_chunks_ns": any_chunks.time_ps / 1000,
        "bound_any_chunks_ps": any_chunks.time_ps,
        "bound_any_chunks_reason": any_chunks.reason,
        "ratio": round(time_ps / max(1, any_chunks.time_ps), 6),
        "algbw_bytes_per_s": round(algbw),
        "busbw_bytes_per_s": round(algbw * collective.bus_factor),
        "transfers": schedule.num_transfers,
        "link_utilization_mean": round(float(busy.mean()), 4),
        "link_utilization_max": round(float(busy.max()), 4),
        "engine": schedule.generator,
        "seed": schedule.seed,
        "synthesis_seconds": round(synthesis.seconds, 6),
        "peak_rss_bytes": synthesis.peak_rss_bytes,
    }


def describe(numbers: dict[str, Any]) -> str:
    """The numbers of `summarize`, for people."""
    mode = ", blocking links" if numbers["blocking"] else ""
    lines = {
        numbers["collective"]: f"{format_bytes(numbers['size_bytes'])} on {numbers['topology']}: {numbers['ranks']} "
        f"ranks, chunks per rank: {numbers['chunks_per_rank']}{mode}",
        "time": format_time(numbers["time_ps"]),
        "bound": f"{format_time(numbers['bound_ps'])} ({numbers['bound_reason']}); {_of_any_chunks(numbers)}",
        "ratio": f"{numbers['ratio']:.4f}",
        "algbw": format_bandwidth(numbers["algbw_bytes_per_s"]),
        "busbw": format_bandwidth(numbers["busbw_bytes_per_s"]),
        "transfers": f"{numbers['transfers']}, verified",
        "links": f"{numbers['link_utilization_mean']:.0%} busy, the busiest {numbers['link_utilization_max']:.0%}",
        "engine": f"{numbers['engine']}, seed {numbers['seed']}, {numbers['synthesis_seconds']:.3f} s",
    }
    return "\n".join(f"{name:<16}{value}" for name, value in lines.items())


def _of_any_chunks(numbers: dict[str, Any]) -> str:
    """The bound that holds for any number of chunks, with its argument where that is another one."""
    reason = numbers["bound_any_chunks_reason"]
    argument = "" if reason == numbers["bound_reason"] else f" ({reason})"
    return f"of any chunks {format_time(numbers['bound_any_chunks_ps'])}{argument}"
