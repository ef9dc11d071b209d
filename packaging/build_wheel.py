"""Builds the wheel for glibc 2.28 and later (RHEL 8, Debian 10, Ubuntu 18.10), whatever glibc this machine has.

Run: `python packaging/build_wheel.py`, or `make wheel` (`make wheel ARCH=aarch64`). The compiler is Clang of the
package `ziglang`, which has the headers and symbols of every glibc. The C++ library is that of this machine's g++
(nanobind needs libstdc++), linked statically: another ARCH needs `apt-get install g++-ARCH-linux-gnu`. The wheel is
built from the source distribution, which therefore holds all that is needed; both lie in --out.
"""

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDER_GLIBC = ROOT / "packaging" / "older_glibc"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default=platform.machine(), help="x86_64, aarch64; this machine's by default")
    parser.add_argument("--glibc", default="2.28", metavar="VERSION", help="the oldest that it is to run with")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    options = parser.parse_args()
    out = options.out.absolute()
    with tempfile.TemporaryDirectory(prefix="hocket-wheel-") as scratch:
        source = unpacked(source_distribution(out), Path(scratch))
        compiler = write_compiler(Path(scratch), options.arch, options.glibc)
        tag = f"manylinux_{options.glibc.replace('.', '_')}_{options.arch}"
        build = [sys.executable, "setup.py", "-q", "bdist_wheel", "--plat-name", tag, "-d", str(out)]
        # ccache does not know that the compiler's script stands for one.
        names = {
            "CC": compiler,
            "CXX": compiler,
            "LDSHARED": f"{compiler} -shared",
            "LDCXXSHARED": f"{compiler} -shared",
        }
        run(build, source, {**names, "HOCKET_CCACHE": "no"})
    (wheel,) = out.glob(f"hocket-*-{tag}.whl")
    check(wheel, tag)
    print(f"wrote {wheel}")


def source_distribution(out: Path) -> Path:
    """The source distribution of the checkout, new."""
    before = {path: path.stat().st_mtime_ns for path in out.glob("hocket-*.tar.gz")}
    run([sys.executable, "setup.py", "-q", "sdist", "-d", str(out)], ROOT)
    (made,) = (path for path in out.glob("hocket-*.tar.gz") if path.stat().st_mtime_ns != before.get(path))
    return made


def unpacked(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    return into / archive.name.removesuffix(".tar.gz")


def write_compiler(folder: Path, arch: str, glibc: str) -> str:
    """A script that compiles and links as g++ would, for that architecture and that glibc. Returns its path."""
    native = arch == platform.machine()
    gcc = "g++" if native else f"{arch}-linux-gnu-g++"
    if shutil.which(gcc) is None:
        package = "g++" if native else f"g++-{arch}-linux-gnu"
        sys.exit(f"error: {gcc} is needed, for its C++ library: apt-get install {package}")
    import ziglang

    zig = f"{shlex.quote(str(Path(ziglang.__file__).with_name('zig')))} c++ -target {arch}-linux-gnu.{glibc}"
    # libstdc++'s folders with -I, so that they come before the C library's, which they include next.
    headers = " ".join(f"-I{path}" for path in [OLDER_GLIBC, *cpp_headers(gcc)])
    compiling = f"-nostdinc++ {headers} -include {OLDER_GLIBC / 'configuration.h'} -Wno-macro-redefined"
    single_threaded = folder / "single_threaded.o"
    library, unwinder = (found(gcc, name) for name in ("libstdc++.a", "libgcc_s.so.1"))
    script = folder / "older-g++"
    # The unwinder is the one that Python's other modules use: exceptions pass from nanobind's part into the engine.
    script.write_text(
        f"""#!/bin/sh
for argument; do
  shift
  case "$argument" in
    -c) compiles=yes; set -- "$@" -c ;;
    -static-libgcc) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
if [ "$compiles" ]; then exec {zig} {compiling} "$@"; fi
exec {zig.replace(" c++ ", " cc ", 1)} "$@" {single_threaded} {library} {unwinder}
"""
    )
    script.chmod(0o755)
    plain = zig.replace(" c++ ", " cc ", 1)
    run(
        [*shlex.split(plain), "-O2", "-fPIC", "-c", str(OLDER_GLIBC / "single_threaded.c"), "-o", str(single_threaded)],
        ROOT,
    )
    return str(script)


def cpp_headers(gcc: str) -> list[str]:
    """Where g++ has the headers of its C++ library."""
    told = subprocess.run([gcc, "-E", "-v", "-x", "c++", os.devnull], check=True, capture_output=True, text=True).stderr
    listed = told.partition("search starts here:\n")[2]
    return [os.path.normpath(path) for path in re.findall(r"^ (\S*/c\+\+/\S*)$", listed, re.MULTILINE)]


def found(gcc: str, name: str) -> str:
    """The path of one of g++'s libraries."""
    told = subprocess.run([gcc, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(told):
        sys.exit(f"error: {gcc} has no {name}")
    return os.path.realpath(told)


def check(wheel: Path, tag: str) -> None:
    """Ends with an error where auditwheel says that the wheel needs more than its tag promises."""
    told = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], check=True, capture_output=True, text=True
    ).stdout
    if not keeps_promise(told, tag):
        sys.exit(f"error: {wheel.name}: auditwheel does not agree:\n{told}")


def keeps_promise(told: str, tag: str) -> bool:
    """Whether what auditwheel found is no newer than the tag: `manylinux_2_27_x86_64` for `manylinux_2_28_x86_64`."""
    found = re.search(r'the following platform tag: "(manylinux_\d+_\d+_\w+)"', " ".join(told.split()))
    if found is None:
        return False
    needed, promised = (each.split("_", 3) for each in (found[1], tag))
    return needed[3] == promised[3] and tuple(map(int, needed[1:3])) <= tuple(map(int, promised[1:3]))


def run(command: Sequence[str], cwd: Path, variables: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **(variables or {})})
    if done.returncode:
        sys.exit(f"error: {shlex.join(command)} ended with {done.returncode}")


if __name__ == "__main__":
    main()
