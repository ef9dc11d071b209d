"""microsoft/msccl: the runtime that MSCCL XML is from."""

from hocket.schedule import NVIDIA, Kind
from hocket.translator.msccl.profile import COMMON_ATTRIBUTES, Profile, Recipe, Scan, names_of_kinds

__all__ = ["PROFILES"]

PROFILES = (
    Profile(
        name="msccl",
        summary="microsoft/msccl, a fork of NCCL 2.12",
        attributes=COMMON_ATTRIBUTES | {"name"},
        collective_names=names_of_kinds("allreduce allgather reduce_scatter alltoall broadcast reduce custom"),
        max_steps=256,
        max_thread_blocks=216,
        max_files=4,
        max_name=63,
        max_channels=32,
        # scratch for maxBytes is reserved at start, so "open" is up to the runtime's default of maxBytes, 128 MiB
        open_max_bytes=1 << 27,
        max_bytes_exclusive=True,
        checks_program=True,
        refuses_channels=False,
        other_types=frozenset({"ra"}),
        protocols=NVIDIA,
        scan=Scan.ONE_BY_ONE,
        notes=("files in the order of MSCCL_XML_FILES, at most 4; NCCL_ALGO must name MSCCL",),
        call_notes={
            Kind.ALL_TO_ALL: 'in-place all_to_all is refused; a file named "2D" runs a built-in algorithm instead'
        },
        in_bundle="It looks at them in the order of MSCCL_XML_FILES, at most 4, and takes the first that matches.",
        built_in=("2D", "alltoall"),
        recipe=Recipe(
            "microsoft/msccl (a fork of NCCL 2.12)",
            "MSCCL",
            "build/lib/libnccl.so.2",
            (
                "LD_LIBRARY_PATH=$MSCCL/build/lib:${LD_LIBRARY_PATH:-}",
                "MSCCL_XML_FILES={files}",
                "NCCL_ALGO=MSCCL,RING,TREE",
                "NCCL_DEBUG=INFO",
                "NCCL_DEBUG_SUBSYS=INIT,ENV",
            ),
            (
                "MSCCL: Parsing algorithm",
                "Parsed MSCCL Algorithm .*successfully",
                "Connected [0-9]+ MSCCL algorithms",
            ),
            trouble="failed to initialize. Will be ignored",
        ),
    ),
)
