"""Fits a topology and protocols to what benchmarks measured."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from hocket.api.calibrate.kernels import kernels_fitted
from hocket.api.calibrate.request import CalibrationRequest
from hocket.api.calibrate.result import CalibrationResult
from hocket.api.calibrate.runtimes import runtime_fitted
from hocket.api.calibrate.transferred import PredictedCurve, Transferred, transferred
from hocket.api.progress import Progress
from hocket.api.provenance import comment, write_page
from hocket.base.errors import FormatError, HocketError, RequestError
from hocket.base.files import require_place, write_json
from hocket.base.strict_yaml import nearest
from hocket.calibration import (
    Assumed,
    Calibration,
    Measurement,
    NcclCalibration,
    Releases,
    calibrate,
    calibrate_nccl,
    calibrated_topology,
    curves_of,
    disagreements,
    hold_out,
    measured_releases,
    measured_settings,
    on_machines,
    predictor,
    read_measurements,
    refuse_impossible,
    save_parameters,
)
from hocket.calibration.fitting import LEAST_SIZES
from hocket.calibration.measurement import kind_named
from hocket.calibration.validation import freely
from hocket.nccl import Settings, read_settings
from hocket.nccl.fitted import NCCL_NAMES
from hocket.nccl.libraries import LIBRARIES, library_of
from hocket.nccl.measured_on import MeasuredOn
from hocket.nccl.programs.spec import settings_on
from hocket.nccl.releases import NEWEST, Release
from hocket.report.calibration_page import calibration_content
from hocket.topology import Topology, load, save
from hocket.topology.machines.hosts import hosts_of
from hocket.topology.spec import with_nvswitches

__all__ = ["perform"]


def perform(request: CalibrationRequest, progress: Progress) -> CalibrationResult:
    """The fits, what was held out and what disagrees; files where they are asked for."""
    if request.json is not None:
        require_place(request.json)
    if request.kernels:
        result = kernels_fitted(request)
    elif request.runtime is not None:
        result = runtime_fitted(request, request.runtime)
    else:
        result = _collectives_fitted(request)
    if request.json is not None:
        write_json(request.json, result.as_json())
    return result


def _collectives_fitted(request: CalibrationRequest) -> CalibrationResult:
    _check(request)
    machine = load(request.topology) if request.topology else None
    measurements, notes = _measurements(request, machine) if request.files else ((), [])
    count = len(measurements)
    _refuse_impossible(request, measurements, machine)
    settings = _settings(request, measurements)
    others = transferred(request.topology, measurements, settings, request.predict_nodes, plan=request.plan)
    whole = _whole(request, measurements, others)
    if whole:
        notes.append("note: too few sizes to fit: written is the calibration of the times that are predicted below")
        measurements = tuple(each for curve in whole for each in curve.measurements())
    calibration = _fitted(request, measurements, machine, others)
    of_nodes = request.nccl or (request.topology if whole else None)
    releases = _releases(request, of_nodes, measurements, settings, NEWEST if whole else None) if of_nodes else None
    of_nccl = _of_nccl(request, calibration, releases, measurements) if releases else None
    if of_nccl and whole:
        of_nccl = _as_unsure(of_nccl, whole)
    predict = predictor(of_nccl, releases) if of_nccl and releases else freely
    result = CalibrationResult(
        request,
        calibration,
        of_nccl,
        hold_out(curves_of(measurements), request.holdout, predict) if request.holdout else (),
        disagreements(calibration, machine, measurements) if machine and calibration.fits else (),
        count,
        notes,
        machine,
        others,
    )
    if machine is not None and calibration.fits:
        result = _calibrated(result, machine, of_nccl)
    if request.report is not None:
        write_page(request.report, calibration_content(result.facts).html(), result)
        result.written.append(request.report)
    return result


def _check(request: CalibrationRequest) -> None:
    if request.topology is None and (request.output is not None or request.by is not None):
        raise RequestError("-o and --by are of the calibrated topology: say --topology, the machine it is of")
    if request.settings and request.nccl is None and request.topology is None:
        raise RequestError("--set is of NCCL's model: say --nccl, the machine's topology file")
    if request.accelerator is not None:
        raise RequestError("--accelerator is of the multiplications of a profile: say --kernels PROFILE")
    if not request.files and not request.plan:
        raise RequestError("what was measured? give files, or --plan and --topology for what to measure")
    for path in (request.output, request.report):
        if path is not None:
            require_place(path)


def _fitted(
    request: CalibrationRequest,
    measurements: tuple[Measurement, ...],
    machine: Topology | None,
    others: Transferred | None,
) -> Calibration:
    """The fits; none of curves that are too short, where other nodes' tables tell the rest."""
    curves = curves_of(measurements)
    needs = request.output or request.report or request.nccl or request.holdout
    if others is not None and not needs and all(len(curve.sizes) < LEAST_SIZES for curve in curves):
        return Calibration((), (), curves)
    return calibrate(measurements, machine)


def _measurements(request: CalibrationRequest, machine: Topology | None) -> tuple[tuple[Measurement, ...], list[str]]:
    """What was measured, by the machines of the topology, and what there is to say of that."""
    kind = kind_named(request.collective, "--collective") if request.collective else None
    assumed = Assumed(kind, request.ranks, request.nodes)
    told = read_measurements([Path(file) for file in request.files], assumed, partial=request.partial)
    measurements = on_machines(told, machine) if machine else told
    if measurements == told:
        return told, []
    joined = f"note: several nodes of the measurements are one machine of {request.topology}, joined by its links"
    return measurements, [joined]


def _refuse_impossible(
    request: CalibrationRequest, measurements: tuple[Measurement, ...], machine: Topology | None
) -> None:
    """Raises FormatError for rows that the machines by name cannot have; of others, and of those that were calibrated
    before, what is too fast is a disagreement."""
    if machine is None or not machine.cluster:
        return
    try:
        fitted = hosts_of(str(request.topology)).calibration is not None
    except HocketError:  # machines of several kinds
        return
    if not fitted:
        refuse_impossible(measurements, with_nvswitches(machine), str(request.topology))


def _whole(
    request: CalibrationRequest, measurements: tuple[Measurement, ...], others: Transferred | None
) -> tuple[PredictedCurve, ...]:
    """The predicted curves that stand for those that are too short, where a calibration is to be written."""
    if others is None or request.output is None or request.holdout:
        return ()
    short = all(len(curve.sizes) < LEAST_SIZES for curve in curves_of(measurements))
    return others.whole if short else ()


def _as_unsure(of_nccl: NcclCalibration, whole: tuple[PredictedCurve, ...]) -> NcclCalibration:
    """With the noise that predicted times have, so that nobody takes less than that for a gain."""
    noise = {(curve.kind, curve.ranks, curve.nodes): curve.noise for curve in whole}
    fits = (replace(fit, noise=max(fit.noise, noise[fit.kind, fit.ranks, fit.nodes])) for fit in of_nccl.fits)
    return replace(of_nccl, fits=tuple(fits))


def _settings(request: CalibrationRequest, measurements: tuple[Measurement, ...]) -> Settings:
    """Those that are asked for and those that the outputs show. Raises RequestError for what NCCL does not know."""
    try:
        read_settings(request.settings)
    except FormatError as error:
        raise RequestError(str(error)) from error
    return read_settings(measured_settings(measurements, list(request.settings)))


def _releases(
    request: CalibrationRequest,
    nodes: str,
    measurements: tuple[Measurement, ...],
    settings: Settings,
    release: Release | None,
) -> Releases:
    """NCCL on such `nodes`: the `release` by which times were predicted, else those that may have run."""
    hosts = hosts_of(nodes)
    if hosts.nvls is False:
        settings = read_settings(settings_on(hosts, measured_settings(measurements, list(request.settings))))
    candidates = (release,) if release else measured_releases(measurements)
    return Releases(hosts.machine, settings, candidates, hosts.domain)


def _of_nccl(
    request: CalibrationRequest, calibration: Calibration, releases: Releases, measurements: tuple[Measurement, ...]
) -> NcclCalibration:
    """What was fitted of NCCL, and where that was measured."""
    versions = [each.run.version for each in measurements if each.run and each.run.version]
    hosts = hosts_of(str(request.nccl or request.topology))
    variables = settings_on(hosts, measured_settings(measurements, list(request.settings)))
    measured_on = MeasuredOn.of(releases.machine, variables, versions[0] if versions else "")
    return replace(calibrate_nccl(calibration.fits, releases), measured_on=measured_on)


def _calibrated(result: CalibrationResult, machine: Topology, of_nccl: NcclCalibration | None) -> CalibrationResult:
    """The result with the calibrated topology, which is written where that is asked for."""
    request = result.request
    result.calibrated = calibrated_topology(result.calibration, machine, _reference(request, result.calibration))
    if request.output is not None:
        protocols = Path(request.output).with_suffix(".protocols.yaml")
        save_parameters(result.calibration, protocols, of_nccl, comment(request))
        beside = protocols.name if of_nccl and _is_of_same(request, machine) else None
        save(result.calibrated.topology, request.output, comment(request), beside)
        result.written.append(f"{request.output} and {protocols}")
        if beside is None and (machine_of_nccl := _without_fit(request, result.calibration)):
            result.notes.append(
                f"note: hocket simulate -t {request.output} takes the time of NCCL's model for what NCCL runs, not"
                f" these fits: add --nccl {machine_of_nccl} to have them taken"
            )
    return result


def _without_fit(request: CalibrationRequest, calibration: Calibration) -> str | None:
    """The machine whose NCCL a simulation of the topology takes, where it runs what was measured and was not fitted."""
    if request.nccl is not None or not any(fit.curve.kind in NCCL_NAMES for fit in calibration.fits):
        return None
    try:
        hosts = hosts_of(str(request.topology))
        known = library_of(hosts) is LIBRARIES["nccl"] and hosts.domain == 1
    except HocketError:
        return None
    return re.split("[:,]", str(request.topology))[0] if known and not Path(str(request.topology)).exists() else None


def _is_of_same(request: CalibrationRequest, machine: Topology) -> bool:
    """Whether NCCL was fitted on the machines that the topology names."""
    try:
        own, fitted = hosts_of(str(request.topology)), hosts_of(str(request.nccl or request.topology))
    except HocketError:  # the topology names none, or several kinds
        return False
    return replace(own.machine, source="") == replace(fitted.machine, source="") and own.ranks == machine.num_ranks


def _reference(request: CalibrationRequest, calibration: Calibration) -> str:
    """The collective that the topology is to predict."""
    measured = {str(fit.curve.kind) for fit in calibration.fits}
    if request.by and request.by not in measured:
        raise RequestError(f"--by {request.by}: no such choice; {nearest(request.by, measured)}")
    return request.by or calibration.reference
