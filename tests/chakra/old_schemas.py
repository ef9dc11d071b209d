"""Files of schema 0.0.1 to 0.0.3 for tests, by descriptors of their own: field tables of MLCommons' history."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = descriptor_pb2.FieldDescriptorProto
_REPEATED, _OPTIONAL = _TYPES.LABEL_REPEATED, _TYPES.LABEL_OPTIONAL
_NODE = "id:uint64 name:string {} parent:uint64*"
_TEXTS = "inputs:string input_shapes:string input_types:string outputs:string output_shapes:string output_types:string"
_ATTRIBUTES = {
    "0.0.2": "name:string type:uint64 doc_string:string f:float i:int64 s:string floats:float* ints:int64*"
    " strings:bytes*",
    "0.0.3": "name:string type:uint64 doc_string:string b:bool f:float i:int64 s:string bools:bool* floats:float*"
    " ints:int64* strings:string*",
    "0.0.3 of August": "name:string type:uint64 doc_string:string b:bool f:float u:uint64 i:int64 s:string bools:bool*"
    " floats:float* uints:uint64* ints:int64* strings:string*",
}
_FIRST = (
    "tensor_loc:uint64 tensor_size:uint64 simulated_run_time:uint64 input_tensor_loc:uint64 input_tensor_size:uint64"
    " output_tensor_loc:uint64 output_tensor_size:uint64 num_ops:uint64 comm_type:uint64 involved_dim:bool*"
    " communicator_id:uint32 comm_src:uint32 comm_dst:uint32 comm_size:uint32 comm_tag:uint32 comm_priority:uint32"
)
# Values of the enum AttributeType.
KINDS = {
    "0.0.2": ["f", "i", "s", "floats", "ints", "strings"],
    "0.0.3": ["b", "f", "i", "s", "bools", "floats", "ints", "strings"],
    "0.0.3 of August": ["b", "f", "u", "i", "s", "bools", "floats", "uints", "ints", "strings"],
}


def schema(version: str) -> tuple[Any, Any]:
    """The classes Node and GlobalMetadata (None before there was one) of a version."""
    file = descriptor_pb2.FileDescriptorProto(name="old.proto", package="old", syntax="proto2")
    if version == "0.0.1":
        _message(file, "Node", f"{_NODE.format('node_type:uint64')} {_FIRST}")
    else:
        _message(file, "AttributeProto", _ATTRIBUTES[version])
        _message(file, "Node", f"{_NODE.format('type:uint64')} {_TEXTS} attribute:AttributeProto*")
        _message(file, "GlobalMetadata", "attribute:AttributeProto*")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def find(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"old.{name}"))

    return find("Node"), find("GlobalMetadata") if version == "0.0.3 of August" else None


def _message(file: Any, name: str, fields: str) -> None:
    message = file.message_type.add(name=name)
    for number, text in enumerate(fields.split(), start=1):
        field, _, kind = text.partition(":")
        label = _REPEATED if kind.endswith("*") else _OPTIONAL
        added = message.field.add(name=field, number=number, label=label)
        if (scalar := kind.rstrip("*")) == "AttributeProto":
            added.type, added.type_name = _TYPES.TYPE_MESSAGE, ".old.AttributeProto"
        else:
            added.type = getattr(_TYPES, f"TYPE_{scalar.upper()}")


def set_attribute(owner: Any, version: str, name: str, member: str, value: Any) -> None:
    """Adds an attribute whose value is in `member`: i, s, ints, ..."""
    attribute = owner.attribute.add(name=name, type=KINDS[version].index(member))
    if isinstance(value, list):
        getattr(attribute, member).extend(value)
    else:
        setattr(attribute, member, value)


def framed(*messages: Any) -> bytes:
    """A `.et` file of these messages, each shorter than 16384 bytes."""
    content = b""
    for message in messages:
        payload = message.SerializeToString()
        size = len(payload)
        content += (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + payload
    return content
