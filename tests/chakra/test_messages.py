"""The committed descriptor set is that of et_def.proto, and another copy of the schema does no harm."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

import hocket.chakra
from hocket.chakra.messages import Node

FOLDER = Path(hocket.chakra.__file__).parent


def test_the_descriptor_set_is_that_of_the_schema(tmp_path: Path) -> None:
    if find_spec("grpc_tools"):
        protoc = [sys.executable, "-m", "grpc_tools.protoc"]
    elif which("protoc"):
        protoc = ["protoc"]
    else:
        pytest.skip("neither grpcio-tools nor protoc is here to compile et_def.proto")
    made = tmp_path / "et_def.binpb"
    subprocess.run([*protoc, f"-I{FOLDER}", f"--descriptor_set_out={made}", "et_def.proto"], check=True)
    compiled, committed = (
        descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()) for path in (made, FOLDER / "et_def.binpb")
    )
    assert compiled == committed


def test_the_classes_live_in_a_pool_of_their_own() -> None:
    other = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    other.message_type.add(name="Node")
    descriptor_pool.Default().Add(other)
    assert Node.DESCRIPTOR.fields_by_name["data_deps"].number == 5
