"""Builds the compiled hook for the installed PyTorch, and loads it."""

import sys
import sysconfig
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import torch

from hocket.base.errors import HocketError
from hocket.base.executables import cxx_compiler
from hocket.plugin.background_build import build_in_background
from hocket.plugin.native_build import build, find_built
from hocket.plugin.torch import interfaces

__all__ = ["build_for_the_next", "build_key", "build_library", "compiler_command", "find_library", "load_library"]

_NAME = "hocket_hook"
_FOLDER = Path(__file__).parent
_SOURCES = [_FOLDER / "hook.cpp", *sorted(_FOLDER.glob("*.hpp"))]


def find_library() -> Path | None:
    """The library built for this PyTorch and this Python, None when it was not built yet."""
    return find_built(_SOURCES, compiler_command(), build_key(), _NAME)


def build_for_the_next(begins: bool) -> str:
    """Has it built in the background, if `begins`; how that stands, for people."""
    return build_in_background(_SOURCES, compiler_command(), build_key(), _NAME, begins)


def build_library() -> Path:
    """The library, built if it was not yet: half a minute. Raises HocketError with what the compiler said."""
    return build(_SOURCES, compiler_command(), build_key(), _NAME)


def load_library(path: Path, name: str = _NAME) -> Any:
    """The library as a module (`hook.cpp` tells what is in it). Raises HocketError when it cannot be loaded."""
    loader = ExtensionFileLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise HocketError(f"{path}: cannot be loaded: {error}") from error
    return module


def build_key() -> str:
    """What decides, beside the compiler's command, whether a library fits."""
    return f"{torch.__version__} {torch.version.git_version} {sys.implementation.cache_tag} {sysconfig.get_platform()}"


def compiler_command() -> list[str]:
    """For a library that uses PyTorch: as torch.utils.cpp_extension would call it, which itself needs setuptools.
    Raises HocketError where there is no compiler."""
    root = Path(torch.__file__).parent
    includes = [root / "include", root / "include/torch/csrc/api/include", sysconfig.get_path("include")]
    # Older PyTorch was built with other conventions than this compiler's: pybind11 shares its types only among equals.
    conventions = {convention.name.rpartition("._")[2]: convention.found for convention in interfaces.CONVENTIONS}
    return [
        *cxx_compiler(),
        "-std=c++20",
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        *(f'-D{name}="{value}"' for name, value in conventions.items() if value is not None),
        *(f"-I{path}" for path in includes),
        f"-L{root / 'lib'}",
        "-Wl,--no-as-needed",
        "-lc10",
        "-ltorch_cpu",
        "-ltorch_python",
    ]
