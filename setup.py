"""Builds the native parts; everything declarative is in pyproject.toml."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sysconfig import get_platform

import nanobind
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent


def paths(pattern: str) -> list[str]:
    """Files under the root, relative to it: setuptools takes no absolute ones."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


class SharedLibrary(Extension):
    """A shared library installed inside the package that Python never imports: NCCL opens it by path."""


CORE_HEADERS = paths("core/include/**/*.hpp") + paths("core/src/**/*.hpp")
COMMON = {
    "language": "c++",
    "extra_compile_args": [
        "-std=c++20",
        "-O3",
        "-ffp-contract=off",  # the same doubles on any machine
        "-g0",
        "-MMD",  # beside each object file, the headers that it was made of
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        "-ffunction-sections",
        "-fdata-sections",
        "-Wall",
        "-Wextra",
    ],
    "extra_link_args": ["-Wl,--gc-sections", "-Wl,-s", "-pthread"],
}

# nanobind's split mode: the module itself is limited-API code for Python >= 3.10 (one wheel for all of them),
# nanobind's run-time part comes from the wheel `nanobind-backend`.
core = Extension(
    "hocket._core",
    sources=paths("core/src/**/*.cpp") + paths("core/bind/**/*.cpp"),
    include_dirs=["core/include", "core/bind", nanobind.include_dir()],
    define_macros=[
        ("NB_COMPACT_ASSERTIONS", None),
        ("NB_BACKEND_MODULE", "nanobind_backend"),
        ("Py_LIMITED_API", "0x030A0000"),
    ],
    py_limited_api=True,
    depends=["setup.py", *CORE_HEADERS, *paths("core/bind/**/*.hpp")],
    **COMMON,
)


def nccl_plugin(kind: str, core_sources: Sequence[str] = ()) -> SharedLibrary:
    """Shows only the symbols that NCCL looks for, and needs no library but libc and libstdc++. NCCL
    opens and closes it as communicators come and go, which must change nothing: it stays loaded."""
    exports = f"plugin/nccl/{kind}/exports.map"
    linking = ["-Wl,--as-needed", "-static-libgcc", f"-Wl,--version-script={exports}", "-Wl,-z,nodelete", "-ldl"]
    return SharedLibrary(
        f"hocket.plugin.nccl-{kind}-hocket",
        sources=[*paths(f"plugin/nccl/{kind}/*.cpp"), *core_sources],
        include_dirs=["core/include"],
        depends=["setup.py", *paths("plugin/nccl/*.hpp"), *paths(f"plugin/nccl/{kind}/*.hpp"), *CORE_HEADERS, exports],
        **COMMON | {"extra_link_args": COMMON["extra_link_args"] + linking},
    )


def is_current(built: str) -> bool:
    """Whether an object file is newer than all that it was made of, which the compiler left beside it as a rule of
    make: `x.o: x.cpp a.hpp \\`."""
    try:
        rule = Path(built).with_suffix(".d").read_text().replace("\\\n", " ")
        made_of = shlex.split(rule.partition(":")[2])
        newest = max(os.path.getmtime(path) for path in [*made_of, "setup.py"])
        return os.path.getmtime(built) > newest
    except FileNotFoundError:  # never compiled, or of a header that is no more
        return False


class Build(build_ext):
    """Compiles the files of an extension side by side, and only those that changed or whose headers did: also for
    `pip install -e`, which would take an empty folder for the object files each time."""

    def finalize_options(self) -> None:
        if self.inplace or self.editable_mode:
            self.build_temp = str(Path("build", f"temp.{get_platform()}-{sys.implementation.cache_tag}"))
        super().finalize_options()

    def build_extensions(self) -> None:
        self.use_compile_cache()
        super().build_extensions()

    def use_compile_cache(self) -> None:
        """Object files of any checkout serve all others, where `ccache` is installed and HOCKET_CCACHE is not `no`."""
        if not shutil.which("ccache") or os.environ.get("HOCKET_CCACHE") == "no":
            return
        os.environ.setdefault("CCACHE_BASEDIR", str(ROOT))  # paths below it are hashed as relative ones
        os.environ.setdefault("CCACHE_NOHASHDIR", "1")
        for name in ("compiler_so", "compiler_so_cxx"):
            if command := getattr(self.compiler, name, None):
                setattr(self.compiler, name, ["ccache", *command])

    def build_extension(self, ext: Extension) -> None:
        compile_files = self.compiler.compile
        jobs = int(os.environ.get("HOCKET_JOBS", os.cpu_count() or 1))

        def compile_one(source, output_dir, **options):
            (built,) = self.compiler.object_filenames([source], output_dir=output_dir)
            if is_current(built):
                return [built]
            return compile_files([source], output_dir=output_dir, **options)

        def compile_all(sources, output_dir=None, **options):
            with ThreadPoolExecutor(jobs) as pool:
                batches = pool.map(lambda source: compile_one(source, output_dir, **options), sources)
                return [built for batch in batches for built in batch]

        self.compiler.compile = compile_all
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_files

    def get_ext_filename(self, fullname: str) -> str:
        if not isinstance(self.ext_map.get(fullname), SharedLibrary):
            return super().get_ext_filename(fullname)
        *package, stem = fullname.split(".")
        return os.path.join(*package, f"lib{stem}.so")

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return [] if isinstance(ext, SharedLibrary) else super().get_export_symbols(ext)


class Wheel(bdist_wheel):
    """Tags the wheel abi3, which setuptools does not derive from `py_limited_api` of the extension."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp310"
        super().finalize_options()


nccl_tuner = nccl_plugin("tuner", ["core/src/checksum.cpp", *paths("core/src/nccl/tuner/*.cpp")])

setup(ext_modules=[core, nccl_plugin("profiler"), nccl_tuner], cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
