"""One layer starts processes, one writes files, one speaks to people: what goes past them is named here, with why.

What is said elsewhere would have to remember that names from files are escaped (`hocket.base.text`).
"""

from collections.abc import Mapping

import pytest
from layers import SPEAKS, bypasses
from test_architecture import ROOMS, ROOT
from walls import Tree, read_tree

#: What goes past the layers, by module and name, and why it may.
EXCEPTIONS = {
    ("recording.stream", "os.open"): "the job's own process adds to a stream through a memory map, killed or not",
    ("cli", "typer.echo"): "errors, which escape what is in them",
    ("cli.groups", "typer.echo"): "the version",
    ("cli.terminal", "typer.echo"): "the terminal of the command, which escapes each line",
    ("api.reference", "print"): "the reference, for the documentation",
    ("docs.tables", "sys.stdout.write"): "the documentation's own tables",
    ("runtime.replay.worker", "print"): "JSON for the process that started this one",
    ("runtime.run.worker", "print"): "JSON for the process that started this one",
    (
        "bench.resting_jobs",
        "multiprocessing.get_context",
    ): "forks the ranks of short jobs off one loaded PyTorch",
    ("recording.pinning", "os.link"): "keeps what a cap would drop, whole files under second names",
}


def bypassed(tree: Tree) -> Mapping[tuple[str, str], list[int]]:
    """The lines of each module outside base that go past the layers, by module and name."""
    found: dict[tuple[str, str], list[int]] = {}
    for module, source in tree.sources.items():
        if not module.startswith("hocket.base."):
            for line, name in bypasses(source):
                if SPEAKS.fullmatch(name) and module.startswith("hocket.bench."):
                    continue  # prints what it measured
                found.setdefault((module.removeprefix("hocket."), name), []).append(line)
    return found


def test_nothing_starts_processes_or_writes_files_past_the_layers() -> None:
    found = bypassed(read_tree(ROOT, [*ROOMS, "bench"]))
    assert set(found) == set(EXCEPTIONS), found


BREACHES = {
    "a process": ("import subprocess\nsubprocess.run(['ls'])", "subprocess.run"),
    "a process under another name": ("import subprocess as s\ns.Popen(['ls'])", "subprocess.Popen"),
    "a function out of its module": ("from subprocess import check_output as ask", "subprocess.check_output"),
    "one that is handed on": ("import os\nretry(os.execvp, 'ls')", "os.execvp"),
    "a fork": ("import os\nif os.fork() == 0:\n    pass", "os.fork"),
    "a shell": ("import os\nos.system('ls')", "os.system"),
    "workers": ("from multiprocessing import get_context", "multiprocessing.get_context"),
    "a pool": ("from concurrent.futures import ProcessPoolExecutor", "concurrent.futures.ProcessPoolExecutor"),
    "a file": ("open('x', 'w')", "open"),
    "a file by a keyword": ("open('x', mode='r+b')", "open"),
    "a file in a mode that is not said": ("open('x', mode)", "open"),
    "a packed file": ("import gzip\ngzip.open('x', 'wt')", "gzip.open"),
    "a file of a path": ("path.open('a')", ".open"),
    "a file of the system's": ("import os\nos.open('x', os.O_RDONLY | os.O_CREAT)", "os.open"),
    "a text": ("Path('x').write_text('y')", ".write_text"),
    "bytes": ("(folder / 'x').write_bytes(b'y')", ".write_bytes"),
    "a temporary": ("import tempfile\ntempfile.mkdtemp()", "tempfile.mkdtemp"),
    "a copy": ("import shutil\nshutil.copytree('x', 'y')", "shutil.copytree"),
    "a name": ("import os\nos.replace('x', 'y')", "os.replace"),
    "a name of a path": ("path.replace(other)", ".replace"),
    "a folder": ("import os\nos.makedirs('x')", "os.makedirs"),
    "an archive": ("from zipfile import ZipFile", "zipfile.ZipFile"),
    "a file whose name is said by keyword": ("open(file='x', mode='w')", "open"),
    "a table": ("frame.to_csv('x')", ".to_csv"),
    "a print": ("print('x')", "print"),
    "a warning": ("import warnings\nwarnings.warn('x')", "warnings.warn"),
    "a log": ("import logging\nlogging.info('x')", "logging.info"),
    "a stream": ("import sys\nsys.stderr.write('x')", "sys.stderr.write"),
    "an echo": ("import typer\ntyper.echo('x')", "typer.echo"),
    "an array": ("import numpy as np\nnp.save('x', y)", "numpy.save"),
}
HARMLESS = [
    "import subprocess\nprocesses.run(['ls'], stdout=subprocess.PIPE)",
    "import subprocess\ndef f(process: subprocess.Popen[bytes]) -> None: ...",
    "open('x', 'rb')",
    "open('x')",
    "path.open(encoding='utf-8', newline='')",
    "from tempfile import gettempdir",
    "text.replace('x', 'y')",
    "replace(request, size=1)",
    "import shutil\nshutil.which('ls')",
    "import os\nos.open('/dev/null', os.O_RDONLY)",
]


@pytest.fixture(scope="module")
def found() -> Mapping[tuple[str, str], list[int]]:
    """What is said of the real tree with all breaches in it."""
    sources = {f"simulator__breach_{at}": text for at, (text, _) in enumerate(BREACHES.values())}
    return bypassed(read_tree(ROOT, [*ROOMS, "bench"]).with_modules(**sources))


@pytest.mark.parametrize("breach", BREACHES)
def test_every_sort_of_breach_is_found(breach: str, found: Mapping[tuple[str, str], list[int]]) -> None:
    module = f"simulator.breach_{list(BREACHES).index(breach)}"
    assert {name for where, name in found if where == module} == {BREACHES[breach][1]}


@pytest.mark.parametrize("source", HARMLESS)
def test_what_only_reads_or_asks_the_layers_is_none(source: str) -> None:
    assert not list(bypasses(source))
