"""`hocket nccl tuner make`: a decision table for the tuner plugin, from measurements or from the model."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.nccl.tuning import TunerRule, Winners

__all__ = ["EPILOG", "make"]

EPILOG = (
    "Example: hocket nccl tuner make runs/*.json -o table.csv; hocket nccl tuner make --baseline free.txt"
    " --run ring/ll128=ring.txt --run tree/simple=tree.txt -o table.csv; hocket nccl tuner make"
    " --topology machine.xml --nodes 2 --set NCCL_NVLS_ENABLE=0 -o table.csv"
)


def make(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Outputs of nccl-tests that tell what NCCL chose (-J, or with its log); profiles."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The table, CSV.")] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="CHOICE=FILE", help="A run that was forced to ring/ll128, or to ring/ll128/16."),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A run in which NCCL chose: only what beats it is written."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0,
            max=100,
            help="Percent that a switch must gain, at all its sizes together; 3 times the noise if more.",
        ),
    ] = 3.0,
    extrapolate: Annotated[bool, typer.Option(help="Also below the smallest size and above the largest.")] = False,
    collective: Annotated[
        str | None, typer.Option("--collective", "-c", help="Of files that do not say it; of --topology: which.")
    ] = None,
    ranks: Annotated[int | None, typer.Option(min=2, help="Of files that do not say it.")] = None,
    partial: Annotated[bool, typer.Option(help="Take the lines of runs that were cut off.")] = False,
    topology: Annotated[
        str | None,
        typer.Option(metavar="MACHINE", help="Predict instead: NCCL's topology XML, or a preset such as dgx-h100."),
    ] = None,
    nodes: Annotated[
        list[int] | None, typer.Option(min=1, max=65_536, help="Such machines; repeatable. Of files that lack it.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A variable that the table stands for.")
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --topology: the times that hocket calibrate --nccl fitted."),
    ] = None,
    simulate: Annotated[
        str | None,
        typer.Option(metavar="TOPOLOGY", help="With --topology: simulate the choices on nccl:machine.xml,nodes=2 ..."),
    ] = None,
    constants: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rewrite NCCL's model by what hocket calibrate --nccl fitted, without rules."
        ),
    ] = None,
    least: Annotated[str, typer.Option("--min", metavar="SIZE", help="Smallest size that is predicted.")] = "8",
    most: Annotated[str, typer.Option("--max", metavar="SIZE", help="Largest size that is predicted.")] = "16GiB",
) -> None:
    """Write a table for the tuner plugin: the quickest of what was measured, or what the model chooses.

    From the outputs of several runs of nccl-tests with NCCL_ALGO and NCCL_PROTO forced, and one without, the rules are
    those that beat NCCL's own choice; with --calibration the times are fitted, with --simulate simulated. From
    --topology alone the table is what NCCL 2.30.7 chooses by itself, or would under --set: it keeps these choices
    across versions and settings, and gains nothing where NCCL makes them anyway. With --constants it has no rules but
    the constants with which NCCL's own model comes nearest to what was measured.
    """
    from hocket.base.files import require_place
    from hocket.cli.nccl.tuner.predicted import calibrated, collectives_and_sizes, models_of, simulated
    from hocket.cli.nccl.tuner.sources import measured
    from hocket.nccl.tuning import find_winners, predicted_rules, rules_of

    if out is None:
        raise typer.BadParameter("say where the table goes: -o table.csv")
    if [bool(files or runs or baseline), topology is not None, constants is not None].count(True) != 1:
        raise typer.BadParameter("give outputs of runs (FILES, --run, --baseline), or --topology, or --constants")
    if topology is None and (assignments or calibration or simulate):
        raise typer.BadParameter("--set, --calibration and --simulate go with --topology")
    if calibration and simulate:
        raise typer.BadParameter("--calibration and --simulate: one of them")
    require_place(out)
    if constants is not None:
        _write_constants(constants, out)
        return
    if topology is None:
        note = "the quickest of what was measured"
        timed = measured(files or [], runs or [], baseline or [], (collective, ranks, nodes), partial=partial)
    else:
        names, sizes = collectives_and_sizes(collective, least, most)
        models = models_of(topology, nodes or [1], assignments or [])
        on = "".join([Path(topology).name, *(f" {assignment}" for assignment in assignments or [])])
        if calibration:
            note = f"the quickest by {calibration.name} on {on}"
            timed = calibrated(models, names, sizes, calibration)
        elif simulate:
            note = f"the quickest as simulated on {simulate}, for {on}"
            timed = simulated(models, simulate, names, sizes)
        else:
            rules = [rule for model in models for rule in predicted_rules(model, names, sizes)]
            _print_rules(rules)
            _write(rules, out, f"what NCCL 2.30.7 chooses on {on}, by its model")
            return
    found = find_winners(timed, round(margin * 10_000))
    for winners in found:
        _print_winners(winners)
    _write(rules_of(found, extrapolate=extrapolate), out, note)


def _write(rules: "list[TunerRule]", out: Path, note: str) -> None:
    from hocket.nccl.tuning import write_rules

    if not rules:
        typer.echo("NCCL's own choices are the quickest: no table is written, none is needed")
        return
    write_rules(rules, out, [f"by hocket nccl tuner make: {note}"])
    typer.echo(f"wrote {out}: {len(rules)} rule{'s' * (len(rules) != 1)}")


def _write_constants(calibration: Path, out: Path) -> None:
    from hocket.calibration import read_nccl_calibration
    from hocket.nccl.tuning import write_constants

    fitted = read_nccl_calibration(calibration)
    nodes = [fit.nodes for fit in fitted.fits]
    note = f"by hocket nccl tuner make: constants of NCCL {fitted.release.name}'s model by {calibration.name}"
    count = write_constants(fitted.constants, fitted.release.constants, (min(nodes), max(nodes)), out, [note])
    if not count:
        typer.echo("NCCL's own constants come as near as any: no table is written, none is needed")
        return
    typer.echo(f"wrote {out}: {count} constants, for {min(nodes)} to {max(nodes)} nodes")
    typer.echo(
        "note: they may also change what NCCL chooses for collectives that were not measured:"
        f" hocket nccl tuner check {out} --nodes N --against MACHINE"
    )


def _print_winners(winners: "Winners") -> None:
    from hocket.base.units import format_bytes

    noise = f"noise {winners.noise_ppm / 1e4:.1f}%, " if winners.noise_ppm else ""
    count = len(winners.choices) + winners.has_own
    typer.echo(
        f"{winners.name}: {count} choices at {len(winners.sizes)} sizes; {noise}a switch must gain"
        f" {winners.margin_ppm / 1e4:.1f}%"
    )
    for _, grouped in groupby(range(len(winners.sizes)), key=lambda at: winners.chosen[at]):
        run = list(grouped)
        choice = winners.chosen[run[0]]
        span = f"{format_bytes(winners.sizes[run[0]])} .. {format_bytes(winners.sizes[run[-1]])}"
        typer.echo(f"  {span:<22} {choice.name if choice else 'as NCCL does':<18} {_gain(winners, run)}".rstrip())
    if winners.unmatched:
        sizes = ", ".join(format_bytes(size) for size in winners.unmatched[:4]) + ", ..." * (len(winners.unmatched) > 4)
        typer.echo(f"  note: NCCL's own choice was not measured at {sizes}: not compared there")
    if not winners.has_own:
        typer.echo(
            "  note: no run in which NCCL chose itself: what the table gains is not known, and it may lose; run once"
            " without NCCL_ALGO and NCCL_PROTO, and give that too (--baseline FILE)"
        )


def _gain(winners: "Winners", run: list[int]) -> str:
    """How much less time it takes than NCCL's own choice, or than the next best; empty where that is the same."""
    pairs = [(winners.time_ps[at], winners.other_ps[at]) for at in run]
    gains = [100 * (1 - time / other) for time, other in pairs if other is not None]
    if not gains or winners.chosen[run[0]] is None:
        return ""
    span = f"{min(gains):.1f}%" if len(gains) == 1 else f"{min(gains):.1f}% to {max(gains):.1f}%"
    return f"{span} less time than {'NCCL takes by itself' if winners.has_own else 'the next best'}"


def _print_rules(rules: "Iterable[TunerRule]") -> None:
    from hocket.base.units import format_bytes

    for rule in rules:
        span = f"{format_bytes(rule.least)} .. {format_bytes(rule.most or 0)}"
        where = f"{rule.ranks[0]} ranks of {rule.nodes[0]} node{'s' * (rule.nodes[0] > 1)}"
        typer.echo(f"{rule.collective:<13} {where:<22} {span:<28} {rule.choice.name if rule.choice else ''}")
