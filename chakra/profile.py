"""Who a trace is written for."""

from hocket.base.enums import StrEnum

__all__ = ["TraceProfile"]


class TraceProfile(StrEnum):
    """`mlcommons`: everything the trace holds. `astra-sim`: what ASTRA-sim can run (`hocket.chakra.astra_sim`)."""

    MLCOMMONS = "mlcommons"
    ASTRA_SIM = "astra-sim"
