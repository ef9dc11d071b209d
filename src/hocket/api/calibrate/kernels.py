"""Fits what multiplications reach of an accelerator to profiles."""

from __future__ import annotations

from hocket.api.calibrate.request import CalibrationRequest
from hocket.api.calibrate.result import CalibrationResult
from hocket.api.provenance import comment
from hocket.base.errors import RequestError
from hocket.base.files import require_place
from hocket.calibration import Calibration
from hocket.chakra.importers.pytorch.products import MeasuredProducts, measured_products
from hocket.workload.accelerator_file import write_spec
from hocket.workload.accelerators import Accelerator, Precision, accelerator_of_device, parse_accelerator
from hocket.workload.kernel_fit import fit_kernels

__all__ = ["kernels_fitted"]


def kernels_fitted(request: CalibrationRequest) -> CalibrationResult:
    """The fit; its file where that is asked for. Raises RequestError where nothing says what computed."""
    if request.files or request.topology or request.plan or request.holdout or request.nccl or request.report:
        raise RequestError("--kernels fits an accelerator alone: measured collectives are another call's")
    if request.output is not None:
        require_place(request.output)
    measured = [measured_products(path) for path in request.kernels]
    accelerator = _accelerator(request, measured)
    fit = fit_kernels(measured, accelerator, Precision(request.precision))
    result = CalibrationResult(request, Calibration((), (), ()), None, (), (), fit.kernels, [], kernels=fit)
    if request.output is not None:
        said = f"{fit.kernels} multiplications of {fit.shapes} shapes at {request.precision}"
        write_spec(request.output, fit.accelerator.spec, fit.errors, said, comment(request))
        result.written.append(request.output)
    return result


def _accelerator(request: CalibrationRequest, measured: list[MeasuredProducts]) -> Accelerator:
    if request.accelerator is not None:
        return parse_accelerator(request.accelerator)
    names = sorted({profile.gpu for profile in measured})
    found = accelerator_of_device(names[0]) if len(names) == 1 else None
    if found is None:
        told = "say nothing of a GPU" if names == [""] else f"are of {', '.join(name or 'no GPU' for name in names)}"
        raise RequestError(f"the profiles {told}: name what computed with --accelerator")
    return found
