"""Performs a verification: by what the files are."""

from __future__ import annotations

from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.reading import bytes_of
from hocket.api.verify.orders import verify_orders
from hocket.api.verify.programs import verify_plan, verify_program, verify_switches, verify_xml
from hocket.api.verify.request import Verification
from hocket.api.verify.result import VerificationResult
from hocket.api.verify.schedules import verify_schedules
from hocket.base.errors import FormatError, RequestError, ScheduleError
from hocket.base.units import parse_time
from hocket.schedule import load, load_expanded
from hocket.topology import load as load_topology
from hocket.translator import is_program_json, is_switch_json, read_forest, read_tacos_csv, read_tacos_xml
from hocket.translator.bundle.manifest import PROGRAMS, is_bundle
from hocket.translator.formats.forestcoll import is_forest
from hocket.translator.formats.tacos import tacos_program

__all__ = ["perform"]

# Fields, by what is verified; the others would do nothing.
_FILES = {"files"}
_REPLAYED = _FILES | {"topology", "size", "output"}
_PLAN = _FILES | {"runtime", "json", "explain", "gpu", "root"}
_XML = _PLAN | {"fifo_depth"}


def perform(request: Verification, progress: Progress) -> VerificationResult:
    """Proves, or shows where the files are wrong. Raises RequestError for fields that would do nothing, FormatError for
    what cannot be read."""
    if not request.files:
        raise RequestError("FILE... is missing: give a file to verify")
    for folder in (Path(each) for each in request.files if Path(each).is_dir()):
        raise FormatError(f"{folder}: a folder; verify its programs one by one: {_programs(folder)}")
    if len(request.files) > 1:
        return _verify_together(request)
    file = Path(request.files[0])
    to_xml = f"first hocket translate {file} --to RUNTIME -o {file.stem}.xml"
    if file.suffix == ".xml" and request.runtime is None and is_forest(file):
        request.take_only(_REPLAYED, f"{file} has ForestColl's trees, for no runtime yet")
        return _verify_forest(request, file)
    if file.suffix == ".csv" or (file.suffix == ".xml" and request.topology is not None):
        request.take_only(_REPLAYED | {"claimed"}, f"{file} is TACOS' order on links, for no runtime yet")
        return _verify_tacos(request, file)
    if file.suffix == ".xml":
        elsewhere = "--claimed, --size and --output are for TACOS' files: a .csv, or .xml with --topology"
        request.take_only(_XML, elsewhere)
        return verify_xml(request, file)
    if file.suffix == ".json" and is_program_json(file):
        request.take_only(_FILES | {"fifo_depth"}, f"{file} is for no runtime; {to_xml}")
        return verify_program(request, file)
    if file.suffix == ".json" and is_switch_json(file):
        request.take_only(_FILES, f"{file} is a program over switches, for the device engine alone")
        return verify_switches(request, file)
    if file.suffix == ".json":
        request.take_only(_PLAN, f"{file} is an MSCCL++ plan, whose puts wait for no room")
        return verify_plan(request, file)
    request.take_only(_FILES, f"{file} is a schedule, for no runtime; {to_xml}")
    return verify_schedules(request, [load(file)])


def _programs(folder: Path) -> str:
    """What a shell calls the programs in a folder."""
    inside = folder / PROGRAMS if is_bundle(folder) else folder
    return f"for file in {inside}/*; do hocket verify $file; done"


def _verify_together(request: Verification) -> VerificationResult:
    request.take_only(_FILES, "several files at once are .schedule files, without options")
    if odd := [each for each in request.files if Path(each).suffix in (".xml", ".csv", ".json")]:
        raise RequestError(f"several files at once are .schedule files: verify {', '.join(odd)} one by one")
    return verify_schedules(request, [load_expanded(each) for each in request.files])


def _verify_forest(request: Verification, file: Path) -> VerificationResult:
    if request.topology is None or request.size is None:
        raise RequestError("ForestColl's trees name no links and bytes: give --topology and --size")
    try:
        schedule = read_forest(file, load_topology(request.topology), bytes_of("--size", request.size))
    except ScheduleError as error:
        return VerificationResult(request, (), [str(error)])
    return verify_schedules(request, [schedule], by="ForestColl's trees")


def _verify_tacos(request: Verification, file: Path) -> VerificationResult:
    if file.suffix == ".csv":
        if request.topology is not None or request.size is not None:
            raise RequestError("a .csv of TACOS has its links and sizes: drop --topology and --size")
        orders = read_tacos_csv(file)
    else:
        if request.topology is None or request.size is None:
            tacos_program(file)  # an option that is missing is of no use to files of others
            raise RequestError("an .xml of TACOS needs --topology and --size")
        orders = read_tacos_xml(file, load_topology(request.topology), bytes_of("--size", request.size))
    return verify_orders(request, orders, None if request.claimed is None else parse_time(request.claimed))
