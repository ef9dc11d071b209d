"""Copies of the house in which a test changes some rooms, and what is run there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hocket"


class HouseCopy:
    """`folder/hocket` has links to everything in `src/hocket`, but files of its own of the `changed` rooms."""

    def __init__(self, folder: Path, changed: Iterable[str]) -> None:
        self.folder, self.package = folder, folder / "hocket"
        self.package.mkdir(parents=True)
        for path in SOURCE.iterdir():
            if path.name in changed:
                shutil.copytree(path, self.package / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif path.name != "__pycache__":
                (self.package / path.name).symlink_to(path.resolve())

    def replace(self, file: str, old: str, new: str) -> None:
        """Changes the one place in a file of a changed room."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has '{old}' {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def write(self, file: str, text: str) -> None:
        (self.package / file).write_text(text, encoding="utf-8")

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python that imports the copy."""
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def hocket(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "hocket", *arguments)

    def table(self, name: str) -> str:
        """A table of the documentation, as the copy's registries have it."""
        return self.python("-c", f"from hocket.docs.tables import TABLES; print(*TABLES[{name!r}]())").stdout

    def tests(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The house's own tests, on the copy."""
        return self.python(
            "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0", "--rootdir", str(ROOT), *arguments
        )

    def mypy(self, *files: str) -> subprocess.CompletedProcess[str]:
        """mypy's findings in files of the copy."""
        return self.python(
            "-m", "mypy", "--strict", "--explicit-package-bases", "--namespace-packages", "--follow-imports=silent",
            "--cache-dir", str(self.folder / ".mypy_cache"), *(str(Path("hocket") / file) for file in files),
        )  # fmt: skip
