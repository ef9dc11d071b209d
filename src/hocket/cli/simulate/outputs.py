"""The files that `hocket simulate` writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hocket.simulator import Prediction

__all__ = ["Outputs", "Records"]

_LINK_BINS = 256


class Records(TypedDict):
    """What the simulation must keep for them: keyword arguments of all simulations."""

    record_links: bool
    link_bins: int
    latencies: bool


@dataclass(frozen=True)
class Outputs:
    """Where to write what; None: not wanted."""

    json: Path | None
    timeline: Path | None
    tables: Path | None
    parquet: bool
    report: Path | None

    def require_paths_that_fit(self, csv: Path | None) -> None:
        """Raises a usage error for a timeline by another name than that of gzipped JSON, and where two outputs (`csv`
        is another) are one file."""
        if self.timeline and not self.timeline.name.endswith(".json.gz"):
            raise typer.BadParameter(f"--timeline {self.timeline}: it is gzipped JSON: name it FILE.json.gz")
        options = {"--json": self.json, "--timeline": self.timeline, "--tables": self.tables, "--report": self.report}
        taken: dict[Path, str] = {}
        for option, path in {**options, "--csv": csv}.items():
            if path and (first := taken.setdefault(path.resolve(), option)) != option:
                raise typer.BadParameter(f"{first} and {option} are both {path}: give each its own")

    @property
    def records(self) -> Records:
        analysed = bool(self.tables or self.report)
        return Records(
            record_links=self.timeline is not None, link_bins=_LINK_BINS if analysed else 0, latencies=analysed
        )

    def require_curves(self) -> None:
        """Raises a usage error for what only one prediction has."""
        if self.timeline or self.tables:
            raise typer.BadParameter("--timeline and --tables are for one size and algorithm; several have --csv")

    def show(self, predictions: Sequence[Prediction]) -> None:
        """Prints and writes the prediction, or compares several."""
        from hocket.cli.simulate.print import print_comparison, print_prediction

        if len(predictions) == 1:
            print_prediction(predictions[0])
            self._write(predictions[0])
            return
        if self.json or self.timeline or self.tables or self.report:
            raise typer.BadParameter(
                "--json, --timeline, --tables and --report are for one prediction: give one --topology"
            )
        print_comparison(predictions)

    def _write(self, prediction: Prediction) -> None:
        """Writes what is wanted and says so."""
        from hocket.base.files import atomic_write
        from hocket.simulator import write_timeline
        from hocket.simulator.analysis import write_prediction, write_tables

        if self.json:
            write_prediction(prediction, self.json)
            typer.echo(f"wrote {self.json}")
        if self.timeline:
            write_timeline(prediction, self.timeline)
            typer.echo(f"wrote {self.timeline}: open it at https://ui.perfetto.dev")
        if self.tables:
            write_tables(prediction, self.tables, parquet=self.parquet)
            typer.echo(f"wrote tables to {self.tables}")
        if self.report:
            from hocket.report.prediction_page import prediction_page

            with atomic_write(self.report) as file:
                file.write(prediction_page(prediction))
            typer.echo(f"wrote {self.report}")
