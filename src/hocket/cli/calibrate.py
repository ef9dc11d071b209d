"""`hocket calibrate`: what benchmarks measured, turned into a topology and protocols that predict it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.calibration import Calibration, Disagreement, HeldOut, Measurement, NcclCalibration, Releases

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Examples: hocket calibrate all_reduce-1node.txt all_reduce-2nodes.txt --topology dgx-h100:nodes=2"
    " -o calibrated.yaml --report calibration.html | hocket calibrate nccl.json --holdout sizes"
)


@app.command(epilog=EPILOG)
def calibrate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Output of nccl-tests or rccl-tests (text, JSON), perftest, OSU, hocket run or replay --json; CSV.",
        ),
    ],
    topology: Annotated[
        str | None,
        typer.Option("--topology", "-t", metavar="SPEC|FILE", help="The machine as it should be; compared, corrected."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the calibrated topology (.yaml), and its protocols beside it."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Collective that the topology is to predict; default all_reduce, if measured.")
    ] = None,
    holdout: Annotated[
        str | None, typer.Option(help="Cross-validate: sizes (fit every other one) or nodes (fit the other counts).")
    ] = None,
    nccl: Annotated[
        str | None,
        typer.Option("--nccl", metavar="MACHINE", help="NCCL's topology XML, or a preset: fit what NCCL ran, too."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="With --nccl: a variable of NCCL's environment as measured."),
    ] = None,
    collective: Annotated[str | None, typer.Option(help="What was measured, for files that do not say it.")] = None,
    ranks: Annotated[int | None, typer.Option("-n", "--ranks", min=2, help="Ranks, for files without them.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Machines, for files without them.")] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Take the lines of a run that was cut off.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page of predicted against measured here (.html).")
    ] = None,
) -> None:
    """Fit latencies, bandwidths and protocols to measurements, and say which disagree with the topology."""
    from hocket.base.files import require_place
    from hocket.calibration import (
        Assumed,
        calibrate_nccl,
        calibrated_topology,
        curves_of,
        disagreements,
        hold_out,
        on_machines,
        predictor,
        read_measurements,
        save_parameters,
    )
    from hocket.calibration import calibrate as fit
    from hocket.calibration.measurement import kind_named
    from hocket.calibration.validation import BY, freely
    from hocket.cli.options import one_of
    from hocket.topology import load, save

    if topology is None and (output is not None or by is not None):
        raise typer.BadParameter("-o and --by are of the calibrated topology: say --topology, the machine it is of")
    if assignments and nccl is None:
        raise typer.BadParameter("--set is of NCCL's model: say --nccl, the machine's topology file")
    if holdout is not None:
        one_of("--holdout", holdout, BY)
    for path in (output, report):
        if path is not None:
            require_place(path)
    assumed = Assumed(kind_named(collective, "--collective") if collective else None, ranks, nodes)
    machine = load(topology) if topology else None
    told = read_measurements(files, assumed, partial=partial)
    measurements = on_machines(told, machine) if machine else told
    if measurements != told:
        typer.echo(f"note: several nodes of the measurements are one machine of {topology}, joined by its links")
    calibration = fit(measurements, machine)
    releases = _releases(nccl, assignments, measurements) if nccl else None
    of_nccl = calibrate_nccl(calibration.fits, releases) if releases else None
    predict = predictor(of_nccl, releases) if of_nccl and releases else freely
    held = hold_out(curves_of(measurements), holdout, predict) if holdout else ()
    found = disagreements(calibration, machine, measurements) if machine else ()
    count = len(calibration.fits)
    typer.echo(f"{len(measurements)} measurements of {count} curve{'s' * (count != 1)}")
    _print_fits(calibration)
    _print_levels(calibration)
    if of_nccl is not None:
        _print_nccl(of_nccl)
    _print_held(held, holdout or "")
    _print_disagreements(found)
    if machine is not None:
        kind = one_of("--by", by, {each.curve.kind for each in calibration.fits}) if by else calibration.reference
        calibrated = calibrated_topology(calibration, machine, kind)
        for note in calibrated.notes:
            typer.echo(f"note: {note}")
        if output is not None:
            save(calibrated.topology, output)
            protocols = output.with_suffix(".protocols.yaml")
            save_parameters(calibration, protocols, of_nccl)
            typer.echo(f"wrote {output} and {protocols}")
    if report is not None:
        from hocket.base.files import atomic_write
        from hocket.report.calibration_page import calibration_page

        with atomic_write(report) as file:
            file.write(calibration_page(calibration, machine, held, found))
        typer.echo(f"wrote {report}")


def _releases(machine: str, assignments: list[str] | None, measurements: tuple[Measurement, ...]) -> Releases:
    from hocket.base.errors import FormatError
    from hocket.calibration import Releases, measured_releases, measured_settings
    from hocket.nccl import read_settings
    from hocket.topology.machines.loading import load_machine

    try:
        read_settings(assignments or [])
    except FormatError as error:
        raise typer.BadParameter(str(error)) from error
    settings = read_settings(measured_settings(measurements, assignments or []))
    return Releases(load_machine(machine), settings, measured_releases(measurements))


def _print_fits(calibration: Calibration) -> None:
    from hocket.base.units import format_bandwidth
    from hocket.calibration.validation import Errors

    typer.echo(
        f"\n{'collective':<16} {'ranks':>5} {'nodes':>5}  {'protocol':<8} {'latency':>22} {'bandwidth':>26}  fit"
    )
    for fit in calibration.fits:
        curve, pieces = fit.curve, fit.pieces
        off = str(Errors.of(curve.size_bytes, fit.error))
        for at, name in enumerate(pieces.names):
            head = f"{curve.kind:<16} {curve.ranks:>5} {curve.nodes:>5}" if at == 0 else f"{'':28}"
            latency = f"{pieces.latency_us[at]:.4g} us {_within(float(fit.latency_spread[at]))}"
            bandwidth = f"{format_bandwidth(float(pieces.bandwidth[at]))} {_within(float(fit.bandwidth_spread[at]))}"
            typer.echo(f"{head}  {name:<8} {latency:>22} {bandwidth:>26}  {off if at == 0 else ''}".rstrip())
    for curve in calibration.left_out:
        typer.echo(f"note: {curve.name}: {len(curve.sizes)} sizes are too few to fit; at least 4 are needed")


def _print_levels(calibration: Calibration) -> None:
    from hocket.base.units import format_bandwidth

    typer.echo(f"\n{'level':<16} {'collective':<16} {'protocol':<8} {'a step':>22} {'a rank, each way':>26}")
    for each in calibration.levels:
        step = "not told"
        if each.latency_us is not None:
            step = f"{each.latency_us.value:.4g} us {_within(each.latency_us.spread)}"
        bandwidth = f"{format_bandwidth(each.bandwidth.value)} {_within(each.bandwidth.spread)}"
        bandwidth = f"at least {format_bandwidth(each.bandwidth.value)}" if each.at_least else bandwidth
        typer.echo(f"{each.level:<16} {each.kind:<16} {each.protocol:<8} {step:>22} {bandwidth:>26}")


def _print_nccl(calibration: NcclCalibration) -> None:
    from hocket.base.units import format_bytes
    from hocket.calibration import FREE
    from hocket.calibration.nccl.segment import TERMS

    losses = ", ".join(
        f"{'without NCCL' if name == FREE else f'NCCL {name}'} {loss:.1f}" for name, loss in calibration.losses.items()
    )
    best = "the fits above" if calibration.best == FREE else f"the structure of NCCL {calibration.best}"
    typer.echo(f"\nsizes left out are best predicted by {best} (losses: {losses})")
    for fit in calibration.fits:
        for (algorithm, protocol), segment in fit.segments.items():
            head = f"{fit.kind:<16} {fit.ranks:>5} {fit.nodes:>5}  {algorithm}/{protocol}"
            sizes = f"{format_bytes(segment.smallest)} .. {format_bytes(segment.largest)}"
            terms = zip(TERMS, segment.weights.tolist(), strict=True)
            typer.echo(f"{head:<46} {sizes:<20} " + " ".join(f"{name} {value:.4g}" for name, value in terms if value))


def _print_held(held: tuple[HeldOut, ...], by: str) -> None:
    if not held:
        return
    typer.echo(f"\nheld out by {by}: errors of what was predicted without being fitted")
    for each in held:
        typer.echo(f"  {each.curve.name}: {each.errors}")


def _print_disagreements(found: tuple[Disagreement, ...]) -> None:
    if found:
        typer.echo("\ndisagreements")
    for each in found:
        typer.echo(f"  {each.what}\n    {each.because}")


def _within(spread: float) -> str:
    """The 95 % interval as a factor, where it is told."""
    return f"x/ {spread:.2f}" if spread < 1e3 else "(not told)"
