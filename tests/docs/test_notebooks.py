"""The notebooks of examples/notebooks: each cell runs, and results show themselves."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: What each shows in the end.
SHOWN = {
    "predict": ["bound", "<summary>collectives: 1 row</summary>", "<svg", "1 KiB: "],
    "synthesize": ["True", "times as fast as a ring", "proved"],
    "own_trace": [
        "0 errors",
        "critical path",
        "<summary>ranks: 4 rows</summary>",
        "collectives by kind, the largest changes",
    ],
}


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in (EXAMPLES / "notebooks").glob("*.ipynb")} == {*SHOWN}


@pytest.mark.filterwarnings("ignore:::(jupyter_client|nbclient|zmq|ipykernel|nbformat|traitlets)")
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_from_its_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="pip install nbclient ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="pip install nbclient ipykernel")
    shutil.copytree(EXAMPLES / "traces", tmp_path / "traces")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(EXAMPLES / "notebooks" / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs before you commit"
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": os.fspath(folder)}})
    client.execute()
    shown = "\n".join(text for cell in notebook.cells for output in cell.get("outputs", []) for text in texts(output))
    assert not [expected for expected in SHOWN[name] if expected not in shown], shown[:3000]


def texts(output: Any) -> list[str]:
    return [output.get("text", ""), *map(str, output.get("data", {}).values())]
