"""InfraGraph's schema 3.1, the parts that files have."""

from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "MOST_NODES",
    "Component",
    "Edge",
    "Endpoint",
    "InfraDevice",
    "InfraLink",
    "Infrastructure",
    "Instance",
    "Response",
]

MOST_NODES = 2**20

Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_NODES)]


class Part(msgspec.Struct, forbid_unknown_fields=True):
    description: str | None = None


class Component(Part, kw_only=True):
    name: Name
    count: Count
    choice: Literal["custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch"]
    custom: Any = None
    device: Any = None
    cpu: Any = None
    xpu: Any = None
    nic: Any = None
    memory: Any = None
    port: Any = None
    switch: Any = None


class Physical(msgspec.Struct, forbid_unknown_fields=True):
    bandwidth: dict[str, str | int | float] = {}
    latency: dict[str, str | int | float] = {}


class InfraLink(Part, kw_only=True):
    name: Name
    physical: Physical = msgspec.field(default_factory=Physical)


class Endpoint(msgspec.Struct, forbid_unknown_fields=True):
    component: Name
    instance: str | None = None
    device: str | None = None


class Edge(Part, kw_only=True):
    ep1: Endpoint
    ep2: Endpoint
    link: Name
    scheme: Literal["one2one", "many2many", "ring"] = "one2one"


class InfraDevice(Part, kw_only=True):
    name: Name
    components: list[Component]
    links: list[InfraLink] = []
    edges: list[Edge] = []


class Instance(Part, kw_only=True):
    name: Name
    device: Name
    count: Count


class Infrastructure(Part, kw_only=True):
    name: str = ""
    devices: list[InfraDevice]
    instances: list[Instance]
    links: list[InfraLink] = []
    edges: list[Edge] = []


class Response(msgspec.Struct, forbid_unknown_fields=True):
    infrastructure: Infrastructure
    annotations: Any = None
