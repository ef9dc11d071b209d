"""What of the documentation is written from the code, by `make docs`: the tables of what there is from the registries,
the reference of all commands and the stub of `import hocket` from the requests.

Tables stand between `<!-- table: NAME -->` and `<!-- end of table -->` in the pages; a test holds all to the code.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest

__all__ = ["PAGES", "TABLES", "generated", "main", "with_tables"]

_ROOT = Path(__file__).resolve().parents[3]
#: Where tables may stand.
PAGES = (_ROOT / "CONTRIBUTING.md", _ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md")))
_TABLE = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end of table -->\n)", re.DOTALL)

Rows = Iterable[Sequence[str]]


def _native_algorithms() -> Rows:
    from hocket.schedule.algorithms import ALGORITHMS

    yield "algorithm", "collectives", "needs", "steps", "sent by a rank", "source"
    for algorithm in ALGORITHMS.values():
        for at, form in enumerate(algorithm.forms):
            kinds = ", ".join(form.kinds) + (f" ({form.note})" if form.note else "")
            first = f"`{algorithm.name}`: {algorithm.summary}", algorithm.needs, algorithm.source
            name, needs, source = ("", "", "") if at else first
            yield name, kinds, needs, form.steps, form.sent, source


def _engines() -> Rows:
    from hocket.synthesizer import ENGINES

    yield "engine", "collectives", "networks", "strength", "size"
    for engine in ENGINES.values():
        yield f"[{engine.name}](#{engine.name})", engine.collectives, engine.needs, engine.summary, engine.size


def _importers() -> Rows:
    from hocket.chakra.importers.registry import IMPORTERS

    yield "`--from`", "files", "times", "groups", "waits"
    for importer in IMPORTERS.values():
        yield f"`{importer.name}`", importer.files, importer.times, importer.groups, importer.waits


def _accelerators() -> Rows:
    from hocket.base.units import format_bandwidth
    from hocket.workload.accelerators import ACCELERATORS, Precision

    yield "name", "accelerator", "BF16, FP16", "FP8", "NVFP4", "memory", "capacity", "efficiency", "from"
    for one in ACCELERATORS.values():
        peaks = {each: f"{one.peak[each] / 1e12:g} TFLOP/s" if each in one.peak else "" for each in Precision}
        half = peaks[Precision.BF16] or f"{peaks[Precision.FP16]} (FP16 alone)"
        narrow = peaks[Precision.FP8], peaks[Precision.NVFP4]
        assumed = " (assumed)" * (not one.measured)
        reached = f"{float(one.matmul_efficiency):g}{assumed}"
        efficiency = reached + (f", FP8 {float(one.narrow_efficiency):g}" if one.narrow_efficiency else "")
        capacity = f"{one.memory_bytes / 1e9:g} GB"
        bandwidth = format_bandwidth(one.memory_bandwidth)
        yield f"`{one.name}`", one.summary, half, *narrow, bandwidth, capacity, efficiency, one.source


def _models() -> Rows:
    from hocket.workload.llm import MODELS

    yield "model", "", "layers", "hidden", "heads", "parameters", "source"
    for card in MODELS.values():
        sizes = (card.layers, card.hidden, card.heads, card.num_parameters)
        yield f"`{card.name}`", card.summary, *(f"{size:,}" for size in sizes), card.source


def _networks() -> Rows:
    from hocket.workload.presets import PRESETS

    yield "name", "network", "source", "parameters", "published", "a step's samples"
    for preset in PRESETS.values():
        made = preset()
        samples = f"{made.batch} x {made.sample}"
        yield f"`{preset.name}`", preset.summary, preset.source, f"{made.parameters:,}", preset.published, samples


def _shapes() -> Rows:
    from hocket.topology.builders import SHAPES

    yield "word", "links of one dimension of n ranks"
    for shape in SHAPES.values():
        yield f"`{shape.example}`", shape.summary


def _graphs() -> Rows:
    from hocket.topology.graphs import GRAPHS

    yield "word", "network"
    for graph in GRAPHS.values():
        yield f"`{graph.example}`", graph.summary + (f" ({graph.source})" if graph.source else "")


def _machines() -> Rows:
    from hocket.simulator.installation import installation
    from hocket.topology.machines.records import MACHINES

    yield "name", "GPUs, each", "accelerator", "NICs, Gbit/s", "NUMA nodes, PCI switches", "CPUs", "library", "from"
    for one in MACHINES.values():
        nics = f"{one.nics} x {one.nic}" + (f" ({one.cards})" if one.cards else "")
        inside = f"{one.numa}, {one.switches}" + " of each host" * (one.hosts > 1)
        found = installation(one.name)
        assert found.accelerator and found.library, one.name
        accelerator, library = f"`{found.accelerator.name}`", found.library.title
        source = one.source + (f"; assumed: {one.assumed}" if one.assumed else "")
        yield f"`{one.name}`", one.summary, accelerator, nics, inside, f"`{one.cpu}`", library, source


def _integrated() -> Rows:
    from hocket.simulator.installation import installation
    from hocket.topology.machines.integrated_machines import INTEGRATED

    yield "spec", "what", "accelerator", "NIC of a chip", "library", "from"
    for one in INTEGRATED.values():
        accelerator = installation(one.name).accelerator
        assert accelerator, one.name
        source = one.source + (f"; assumed: {one.assumed}" if one.assumed else "")
        nic, library = f"{one.nic // 125_000_000} Gbit/s", f"{one.library}, not modelled"
        yield f"`{one.example}`", one.summary, f"`{accelerator.name}`", nic, library, source


def _machine_files() -> Rows:
    from hocket.topology.machines.loading import MACHINE_FILES

    yield "spec", "file", "from", "needs"
    for one in MACHINE_FILES.values():
        yield f"`{one.example}`", one.summary, one.source, one.needs


def _node_links() -> Rows:
    from hocket.topology.machines.node_links import NODE_LINKS

    yield "`link=`", "what it is", "from"
    for one in NODE_LINKS.values():
        yield f"`{one.example}`", one.summary, one.source


def _traffic_patterns() -> Rows:
    from hocket.simulator.traffic_patterns import PATTERNS

    yield "pattern", "who sends to whom"
    for one in PATTERNS.values():
        yield f"`{one.name}`", one.summary


def _nccl_algorithms() -> Rows:
    from hocket.nccl.programs import PROGRAMS

    yield "`--algorithm`", "does", "what", "needs", "rules of NCCL 2.30, `src/`"
    for one in PROGRAMS.values():
        yield f"`{one.example}`", ", ".join(one.kinds), one.summary, one.needs, one.source


def _hardware() -> Rows:
    from hocket.topology.machines.hardware import CPUS, GPUS

    yield "key", ""
    nvidia = (name for name, kind in GPUS.items() if not kind.gcn)
    yield "`gpu`", f"{', '.join(nvidia)}: compute capability, NVLinks, PCI generation"
    yield "`cpu`", f"{', '.join(CPUS)}: how NCCL counts between CPUs, and with it"
    yield "`nic`", "bandwidth of each NIC, where there are some"
    yield "`nics`", "those to take, by name: `nics=mlx5_0/mlx5_3`; without it all, also those for storage"
    yield "`nvswitch`", "1: two GPUs that are linked through an NVSwitch, which no matrix of two tells"


def _network_models() -> Rows:
    from hocket.simulator.models import NETWORK_MODELS

    yield "`--model`", "predicts", "leaves out", "validated by"
    for model in NETWORK_MODELS.values():
        yield f"`{model.name}`", model.summary, model.leaves_out, model.validated_by


def _measurements() -> Rows:
    from hocket.calibration.reading import READERS

    yield "format", "what is taken"
    for reader in READERS.values():
        yield reader.summary, reader.taken


def _formats() -> Rows:
    from hocket.translator.formats.registry import FORMATS

    yield "`--to`", "what is written", "of schedules with", "source", "example"
    for one in FORMATS.values():
        yield f"`{one.name}`", one.summary, one.needs, one.source, f"`{one.example}`"


TABLES: dict[str, Callable[[], Rows]] = {
    "native algorithms": _native_algorithms,
    "engines": _engines,
    "shapes": _shapes,
    "graphs": _graphs,
    "machines": _machines,
    "integrated machines": _integrated,
    "machine files": _machine_files,
    "node links": _node_links,
    "traffic patterns": _traffic_patterns,
    "NCCL's algorithms": _nccl_algorithms,
    "hardware": _hardware,
    "importers": _importers,
    "measurements": _measurements,
    "network models": _network_models,
    "accelerators": _accelerators,
    "models": _models,
    "networks": _networks,
    "formats": _formats,
}


def with_tables(text: str, source: str) -> str:
    """A page with its tables as the registries have them. Raises FormatError, naming the page, for a table that is
    none."""

    def written(found: re.Match[str]) -> str:
        if found[2] not in TABLES:
            raise FormatError(f"{source}: no table '{found[2]}'; {nearest(found[2], TABLES)}")
        return found[1] + "".join(f"{line}\n" for line in _lines(TABLES[found[2]]())) + found[3]

    return _TABLE.sub(written, text)


def _lines(rows: Rows) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        if number == 0:
            yield "|---" * len(row) + "|"


def generated() -> Iterator[tuple[Path, str]]:
    """The files that have something of the code, and their text."""
    from hocket.api.reference import reference
    from hocket.api.stub import stub

    yield _ROOT / "docs" / "commands.md", reference()
    yield _ROOT / "src" / "hocket" / "__init__.pyi", stub()
    for page in PAGES:
        yield page, with_tables(read_text(page), page.name)


def main() -> None:
    """Writes those that differ."""
    if sys.argv[1:]:
        raise SystemExit(f"error: {' '.join(sys.argv[1:])}: make docs takes nothing: it writes all that differs")
    for page, text in generated():
        if not page.exists() or text != read_text(page):
            write_file(page, text)
            sys.stdout.write(f"wrote {page.name}\n")
