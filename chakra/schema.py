"""The messages of et_def.proto as protobuf classes.

They live in a descriptor pool of their own: no generated code that binds to one protobuf version, and no clash with
another copy of et_def.proto in the same process.
"""

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["AttributeProto", "GlobalMetadata", "Node"]


def _message_classes(*names: str) -> list[Any]:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(
        files("hocket.chakra").joinpath("et_def.binpb").read_bytes()
    ).file:
        pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}")) for name in names]


AttributeProto, GlobalMetadata, Node = _message_classes("AttributeProto", "GlobalMetadata", "Node")
