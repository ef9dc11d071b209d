"""Azure/msccl-executor-nccl."""

from hocket.schedule import NVIDIA
from hocket.translator.msccl.profile import COMMON_ATTRIBUTES, Profile, Recipe, Scan, names_of_kinds

__all__ = ["PROFILES"]

PROFILES = (
    Profile(
        name="executor",
        summary="Azure/msccl-executor-nccl, a fork of NCCL 2.23",
        attributes=COMMON_ATTRIBUTES | {"outofplace", "minBytes", "maxBytes"},
        collective_names=names_of_kinds("allreduce allgather reducescatter alltoall broadcast reduce gather scatter"),
        max_steps=64,
        max_thread_blocks=1024,
        max_channels=32,
        open_max_bytes=0,
        max_bytes_exclusive=False,
        checks_program=False,
        refuses_channels=True,
        other_collectives=frozenset({"send", "recv", "alltoallv"}),
        protocols=NVIDIA,
        scan=Scan.BY_NAME,
        notes=("every file in the folder is read, sorted by name; the first match wins",),
        in_bundle="It reads every file of `algorithms/`, sorted by name, and takes the first that matches; a"
        " file that is no program ends the scan, so put nothing else there.",
        recipe=Recipe(
            "Azure/msccl-executor-nccl (a fork of NCCL 2.23)",
            "MSCCL",
            "build/lib/libnccl.so.2",
            (
                "LD_LIBRARY_PATH=$MSCCL/build/lib:${LD_LIBRARY_PATH:-}",
                "MSCCL_ALGO_DIR={folder}",
                "NCCL_MSCCL_ENABLE=1",
                "NCCL_DEBUG=INFO",
            ),
            ("Using MSCCL Algo files from", "MSCCL: Initialization finished", "MSCCL: Setup Kernel finished"),
            launched="MSCCL: Setup Kernel finished",
        ),
    ),
)
