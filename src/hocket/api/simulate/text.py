"""Predictions and curves as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hocket.base.late_imports import late_imports
from hocket.base.units import format_bandwidth, format_bytes, format_bytes_apart, format_time
from hocket.simulator import Model, PacketTraffic, Prediction

with late_imports(__name__):
    from hocket.simulator.analysis import caused_waits, critical_path, rank_table, sort_table, step_table
    from hocket.simulator.analysis.packets import LATENCY_PERCENTS
    from hocket.simulator.curves import SimulatedCurve, comparison_sentences, fit_sentence

__all__ = ["assumed_lines", "comparison_lines", "curve_lines", "prediction_lines"]

_TOP_LINKS = 5
_TOP_COLLECTIVES = 12
_TOP_PARTS = 4
_TOP_LATE = 3


def assumed_lines(sentences: Iterable[str], of: str = "") -> Iterator[str]:
    """What is taken for granted, of a topology where there are several."""
    return (f"assumed{of}: {sentence}" for sentence in sentences)


def prediction_lines(prediction: Prediction) -> Iterator[str]:
    """Time, bound, exposed communication, collectives and the busiest links of one prediction."""
    topology = prediction.topology
    yield from assumed_lines(prediction.assumed)
    yield f"{topology.name}: {topology.num_ranks} ranks, {topology.num_links} links; {_routed(prediction)}"
    ranks, left = prediction.workload.job_ranks, prediction.workload.num_ranks
    if left < ranks:
        yield f"  {left} of {ranks} ranks simulated, the others behave identically"
    slowest = int(prediction.finish_ps.argmax())
    rows = [
        ("time", format_time(prediction.time_ps)),
        ("bound", f"{format_time(prediction.bound_ps)} (time is {prediction.ratio:.3f} times that)"),
        ("computation", f"{format_time(int(prediction.compute_ps[slowest]))} on rank {slowest}, the last to finish"),
        ("exposed communication", f"{format_time(int(prediction.exposed_ps[slowest]))} on rank {slowest}"),
        ("  of that", _exposed_parts(prediction, slowest)),
        *_analysed(prediction),
    ]
    yield from (f"  {name:<22} {value}" for name, value in rows)
    if prediction.collectives:
        yield from _collectives(prediction)
    if prediction.link_messages.any():
        yield from _links(prediction)
    if prediction.packets is not None:
        yield from _packets(prediction, prediction.packets)
    yield from _notes(prediction)


def _packets(prediction: Prediction, traffic: PacketTraffic) -> Iterator[str]:
    """Percentiles, the fullest queues, and what flow control did."""
    names = [*(f"p{percent:g}" for percent in LATENCY_PERCENTS), "max"]
    yield f"  latencies    {' '.join(f'{name:>10}' for name in names)}"
    for name, found in (("messages", traffic.message_latency), ("packets", traffic.packet_latency)):
        times = [*map(found.percentile_ps, LATENCY_PERCENTS), found.most_ps]
        yield f"    {name:<10} {' '.join(f'{format_time(time):>10}' for time in times)}  of {found.total}"
    yield "  longest queues"
    waited = traffic.waiting_most_bytes.nonzero()[0]
    for link in waited[traffic.waiting_most_bytes[waited].argsort(kind="stable")[::-1][:_TOP_LINKS]].tolist():
        yield (
            f"    for {prediction.topology.link_name(link):<32} {format_bytes(int(traffic.waiting_most_bytes[link]))}"
            f" at most, {format_bytes(round(float(traffic.waiting_mean_bytes[link])))} on average"
        )
    if not len(waited):
        yield "    none: no packet waited at a switch"
    counts = {
        "pauses": int(traffic.pauses.sum()),
        "packets marked": int(traffic.marked.sum()),
        "packets dropped": int(traffic.dropped.sum()),
    }
    yield f"  flow control  {', '.join(f'{count} {what}' for what, count in counts.items())}"
    paused = traffic.paused_ps
    if paused.any():
        link = int(paused.argmax())
        name = prediction.topology.link_name(link)
        yield f"    longest paused: {name}, {format_time(int(paused[link]))} in {traffic.pauses[link]} pauses"


def _exposed_parts(prediction: Prediction, rank: int) -> str:
    row = {name: int(column[rank]) for name, column in rank_table(prediction).items()}
    waited, kernels, idle = (row[name] for name in ("exposed_wait_ps", "kernel_ps", "idle_ps"))
    parts = (
        (waited, "waiting for other ranks"),
        (row["exposed_ps"] - waited - kernels - idle, "communicating"),
        (kernels, "in launch and steps of kernels"),
        (idle, "idle"),
    )
    return ", ".join(f"{format_time(time)} {what}" for at, (time, what) in enumerate(parts) if time or at < 2)


def _analysed(prediction: Prediction) -> Iterator[tuple[str, str]]:
    """Steps, critical path and who kept others waiting, where there are any."""
    steps = step_table(prediction)
    if len(steps["step"]):
        times = steps["time_ps"]
        slowest = int(times.argmax())
        yield (
            "steps",
            f"{len(times)}, {format_time(times.mean())} on average, at most {format_time(int(times[slowest]))}"
            f" (step {steps['step'][slowest]})",
        )
    if prediction.model != Model.BOUND:
        parts = list(critical_path(prediction).parts().items())[:_TOP_PARTS]
        shares = ", ".join(f"{what} {format_time(time)} ({time / prediction.time_ps:.1%})" for what, time in parts)
        if shares:
            yield "critical path", shares
    late = caused_waits(prediction)
    total = max(int(late["caused_wait_ps"].sum()), 1)
    for rank, wait, ranks in list(zip(late["rank"], late["caused_wait_ps"], late["ranks_kept_waiting"], strict=True))[
        :_TOP_LATE
    ]:
        others = "1 other" if ranks == 1 else f"{ranks} others"
        yield (
            "kept others waiting",
            f"rank {rank}: {others}, {format_time(int(wait))} ({wait / total:.1%} of all waits)",
        )


def _collectives(prediction: Prediction) -> Iterator[str]:
    """A line per distinct collective, those that ran the longest in all first."""
    table = sort_table(prediction)
    yield "  collectives: mean wait from the first rank to the last, mean time from there, bound, busbw"
    sizes = format_bytes_apart(table["size_bytes"].tolist())
    for at in range(min(len(table["count"]), _TOP_COLLECTIVES)):
        row = {name: column[at].item() for name, column in table.items()}
        yield (
            f"    {row['count']:5} x {row['kind']:<14} {row['ranks']:4} ranks {sizes[row['size_bytes']]:>10}"
            f"  {row['algorithm']:<18} {format_time(row['mean_wait_ps']):>10} {format_time(row['mean_time_ps']):>10}"
            f" {format_time(row['mean_bound_ps']):>10} {format_bandwidth(row['busbw']):>11}"
        )
    if len(table["count"]) > _TOP_COLLECTIVES:
        yield f"    and {len(table['count']) - _TOP_COLLECTIVES} more sorts; --tables has them all"


def _links(prediction: Prediction) -> Iterator[str]:
    yield "  busiest links"
    used = prediction.link_messages.nonzero()[0]
    for link in used[prediction.link_busy_ps[used].argsort(kind="stable")[::-1][:_TOP_LINKS]].tolist():
        yield (
            f"    {prediction.topology.link_name(link):<36}"
            f" {prediction.link_utilisation[link]:7.1%} busy, {format_bytes(int(prediction.link_bytes[link]))}"
            f" in {prediction.link_messages[link]} messages"
        )


def comparison_lines(predictions: Sequence[Prediction]) -> Iterator[str]:
    """A line per topology."""
    for prediction in predictions:
        yield from assumed_lines(prediction.assumed, f" of {prediction.topology.name}")
    width = max(len(prediction.topology.name) for prediction in predictions)
    routed = any(prediction.routing_words for prediction in predictions)
    columns = "vs first" + "  routing" * routed
    yield f"{'topology':<{width}}  {'time':>10}  {'bound':>10}  {'ratio':>6}  {'exposed':>10}  {columns}"
    for prediction in predictions:
        exposed = int(prediction.exposed_ps[prediction.finish_ps.argmax()])
        yield (
            f"{prediction.topology.name:<{width}}  {format_time(prediction.time_ps):>10}"
            f"  {format_time(prediction.bound_ps):>10}  {prediction.ratio:6.3f}  {format_time(exposed):>10}"
            f"  {f'{prediction.time_ps / max(predictions[0].time_ps, 1):.3f}x':<8}"
            f"  {(prediction.routing or 'of the schedule') if routed else ''}".rstrip()
        )
    yield f"{_model(predictions[0])}; exposed communication is that of the last rank to finish"
    for prediction in predictions:
        yield from (f"  note of {prediction.topology.name}: {note}" for note in prediction.notes)


def _model(prediction: Prediction) -> str:
    words = [f"model {prediction.model}", prediction.switching.replace("_", "-")]
    return ", ".join(words + [prediction.queueing] * (prediction.queueing != "fifo"))


def _routed(prediction: Prediction) -> str:
    """The model, and the routing where messages had a choice of paths."""
    return ", ".join(filter(None, [_model(prediction), prediction.routing_words]))


def _notes(prediction: Prediction) -> Iterator[str]:
    return (f"  note: {note}" for note in prediction.notes)


def curve_lines(kind: str, curves: Sequence[SimulatedCurve]) -> Iterator[str]:
    """A table for each curve, as nccl-tests prints them, then where they cross."""
    for curve in curves:
        yield from _curve(kind, curve)
    yield from comparison_sentences(curves)


def _curve(kind: str, curve: SimulatedCurve) -> Iterator[str]:
    routing = f", {curve.routing}" * bool(curve.routing)
    yield f"{kind} on {curve.topology}, {curve.algorithm}{routing}"
    yield f"{'size':>10} {'time':>10} {'algbw':>12} {'busbw':>12} {'bound':>10} {'ratio':>7}  {'regime':<9}  algorithm"
    rows = curve.columns
    for at in range(len(rows["size_bytes"])):
        yield (
            f"{format_bytes(int(rows['size_bytes'][at])):>10} {format_time(int(rows['time_ps'][at])):>10}"
            f" {format_bandwidth(float(rows['algbw'][at])):>12} {format_bandwidth(float(rows['busbw'][at])):>12}"
            f" {format_time(int(rows['bound_ps'][at])):>10} {rows['ratio'][at]:7.3f}  {rows['regime'][at]:<9}"
            f"  {rows['used_algorithm'][at]}"
        )
    knee = "outside these sizes" if curve.knee_bytes is None else format_bytes(round(curve.knee_bytes))
    yield f"  floor {format_time(curve.floor_ps)} without any bytes; knee, where the time is twice that: {knee}"
    if curve.fit:
        yield f"  {fit_sentence(curve)}"
