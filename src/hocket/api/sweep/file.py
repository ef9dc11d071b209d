"""The YAML file that says what a sweep varies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.rows import KEYS, grid
from hocket.base.errors import FormatError, HocketError, RequestError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import YamlDocument, nearest, read_yaml
from hocket.base.units import parse_sizes
from hocket.nccl.programs.spec import is_nccl, is_nccl_model
from hocket.schedule import NAMED_KINDS
from hocket.simulator.algorithm_choice import SCHEDULE_SUFFIX, algorithm_names
from hocket.simulator.models import Model, Queueing, Switching
from hocket.topology import load

__all__ = ["load_sweep"]


def load_sweep(path: Path | str) -> list[Simulation]:
    """The rows of a sweep file: all combinations of its values, which are options of `hocket simulate`; each is one
    value or a list, sizes also ranges (`1KiB..1GiB:4`).

    Raises FormatError naming file, line and key, also for values that name nothing there is.
    """
    document = read_yaml(read_text(path, YAML), str(path))
    content = document.content
    known = ("collective", *KEYS)
    for key in content:
        if key not in known:
            raise FormatError(f"{document.where(f'$.{key}')}: unknown key '{key}'; {nearest(key, known)}")
    if "what" in content and "collective" in content:
        raise FormatError(f"{document.where('$.what')}: what and collective are two names of one key: keep one")
    for key in ("topology", "collective"):
        if key not in content and not (key == "collective" and "what" in content):
            raise FormatError(f"{document.where()}: topology and collective are needed: {key} is missing")
    values = {key: value if isinstance(value, list) else [value] for key, value in content.items()}
    if not all(values.values()):
        raise FormatError(f"{document.where()}: nothing to simulate: every key needs at least one value")
    try:
        if "size" in values:
            values["size"] = [size for text in values["size"] for size in parse_sizes(str(text))]
    except FormatError as error:
        raise FormatError(f"{document.where('$.size')}: {error}") from error
    _require_known_names(document, values)
    try:
        return grid(**values)
    except RequestError as error:
        raise FormatError(f"{document.where()}: {error}") from error


def _require_known_names(document: YamlDocument, values: dict[str, list[Any]]) -> None:
    classes = {"*"}
    for at, text in enumerate(values["topology"]):
        try:
            classes.update(load(str(text)).classes)
        except HocketError as error:
            raise FormatError(f"{document.where(f'$.topology[{at}]')}: topology: {error}") from error
    _require_known(document, "collective", values.get("collective", ()), NAMED_KINDS)
    _require_known(document, "model", values.get("model", ()), Model)
    algorithms = [str(text).rpartition("=")[2] for text in values.get("algorithm", ())]
    named = [
        text for text in algorithms if not (text.endswith(SCHEDULE_SUFFIX) or is_nccl(text) or is_nccl_model(text))
    ]
    _require_known(document, "algorithm", named, algorithm_names())
    for key, known in (("switching", Switching), ("queueing", Queueing)):
        parts = [part.rpartition("=") for text in values.get(key, ()) for part in str(text).split(",")]
        _require_known(document, key, [name for name, separator, _ in parts if separator], classes)
        _require_known(document, key, [value for _, _, value in parts], known)


def _require_known(document: YamlDocument, key: str, names: Iterable[Any], known: Iterable[str]) -> None:
    for name in names:
        if name not in set(known):
            raise FormatError(f"{document.where(f'$.{key}')}: {key}: '{name}'; {nearest(str(name), known)}")
