"""ROCm/rccl with MSCCL compiled in."""

from hocket.schedule import AMD, StepType
from hocket.translator.msccl.profile import COMMON_ATTRIBUTES, Profile, Recipe, Scan, names_of_kinds

__all__ = ["PROFILES"]

PROFILES = (
    Profile(
        name="rccl",
        summary="RCCL with MSCCL compiled in, ROCm 5.5 to 7.1",
        attributes=COMMON_ATTRIBUTES | {"outofplace", "minBytes", "maxBytes"},
        collective_names=names_of_kinds("allreduce allgather reducescatter alltoall broadcast reduce gather scatter"),
        step_types=frozenset({StepType.SEND, StepType.RECEIVE, StepType.COPY, StepType.REDUCE, StepType.NOP}),
        max_steps=64,
        max_thread_blocks=64,
        max_channels=128,
        open_max_bytes=0,
        max_bytes_exclusive=False,
        checks_program=False,
        refuses_channels=False,
        other_collectives=frozenset({"send", "recv", "alltoallv"}),
        protocols=AMD,
        scan=Scan.LISTED,
        notes=(
            "files are read in the order of the file system's own listing, which may differ on another machine",
            "RCCL_MSCCL_FORCE_ENABLE=1 is needed except on 16 x MI250 and 8 x MI300X",
        ),
        in_bundle="It reads every file of `algorithms/` in the order of the file system's own listing; no two match"
        " the same call, so the order does not matter. A file that is no program ends the scan, so put nothing else"
        " there.",
        ll_sends_early=True,
        recipe=Recipe(
            "RCCL with MSCCL compiled in (ROCm 5.5 to 7.1)",
            "ROCM",
            "lib/librccl.so.1",
            (
                "LD_LIBRARY_PATH=$ROCM/lib:${LD_LIBRARY_PATH:-}",
                "RCCL_MSCCL_FORCE_ENABLE=1",
                "MSCCL_ALGO_DIR={folder}",
                "NCCL_DEBUG=INFO",
                "NCCL_DEBUG_SUBSYS=INIT,COLL",
            ),
            ("Using MSCCL files from", "MSCCL: Initialization finished", "Setup Kernel finished"),
            launched="Setup Kernel finished",
        ),
    ),
)
