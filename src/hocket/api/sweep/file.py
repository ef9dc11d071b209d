"""The YAML file that says what a sweep varies."""

from pathlib import Path

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.jobs.file import is_of_jobs, points_of
from hocket.api.sweep.jobs.point import JobPoint
from hocket.api.sweep.names import load_topologies, require_known, require_known_names
from hocket.api.sweep.rows import KEYS, grid
from hocket.base.errors import FormatError, RequestError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import YamlDocument, nearest, read_yaml
from hocket.base.units import parse_sizes
from hocket.schedule import NAMED_KINDS

__all__ = ["load_sweep"]


def load_sweep(path: Path | str) -> list[Simulation] | list[JobPoint]:
    """The rows of a sweep file: simulations, or jobs (`jobs.file`). Raises FormatError naming file, line and key."""
    document = read_yaml(read_text(path, YAML), str(path))
    return points_of(document) if is_of_jobs(document) else _simulations(document)


def _simulations(document: YamlDocument) -> list[Simulation]:
    """All combinations of the values, which are options of `hocket simulate`; each is one value or a list, sizes also
    ranges (`1KiB..1GiB:4`). Values that name nothing there is are errors."""
    content = document.content
    known = ("collective", *KEYS)
    for key in content:
        if key not in known:
            raise FormatError(f"{document.where(f'$.{key}')}: unknown key '{key}'; {nearest(key, known)}")
    if "what" in content and "collective" in content:
        raise FormatError(f"{document.where('$.what')}: what and collective are two names of one key: keep one")
    for key in ("topology", "collective"):
        if key not in content and not (key == "collective" and "what" in content):
            raise FormatError(
                f"{document.where()}: topology and collective are needed: {key} is missing; a sweep over jobs has"
                " topology and models, or traces"
            )
    values = {key: value if isinstance(value, list) else [value] for key, value in content.items()}
    if not all(values.values()):
        raise FormatError(f"{document.where()}: nothing to simulate: every key needs at least one value")
    try:
        if "size" in values:
            values["size"] = [size for text in values["size"] for size in parse_sizes(str(text))]
    except FormatError as error:
        raise FormatError(f"{document.where('$.size')}: {error}") from error
    topologies = load_topologies(document, values["topology"])
    require_known(document, "collective", values.get("collective", ()), NAMED_KINDS)
    require_known_names(document, values, topologies.values())
    try:
        return grid(**values)
    except RequestError as error:
        raise FormatError(f"{document.where()}: {error}") from error
