"""What mypy, and so an editor, knows of a notebook that says `import hocket`."""

import subprocess
import sys
from pathlib import Path

NOTEBOOK = '''"""The loop."""

from pathlib import Path

import numpy as np

import hocket

job = hocket.simulate(Path("traces"), "dgx-h100:gpus=4", compute_scale=0.001)
print(job.summary(), job.prediction.time_ps, job.tables()["ranks"])
time_ps: int = job.time_ps
stock = hocket.simulate("all_reduce", "dgx-h100:nodes=2", np.int64(1 << 20), algorithm=["nccl", "auto"])
busbw = hocket.sweep("sweep.yaml", output=Path("sweep"), executor="processes").results["busbw"].max()
made = hocket.synthesize("all_reduce", "mesh:4x4,bandwidth=50GB/s,latency=500ns", "64MiB", time_limit=2.5)
print(made.verify().summary(), made.schedule.num_transfers, hocket.verify(["a.schedule", "b.schedule"]).exit_code)
question = hocket.Simulation.of("all_reduce", "dgx-h100:nodes=2", "64MiB", model="flow")
print(question.to_json(), hocket.load_topology("ring:4").num_ranks)
try:
    hocket.replay(Path("traces"))
    hocket.collect("train.py").summary()
    hocket.collect.step()
except hocket.HocketError as error:
    print(error)
reveal_type(job)
'''
MISTAKES = {
    'hocket.simulate("all_reduce", topologie="ring:4")': 'Unexpected keyword argument "topologie"',
    "hocket.simulate(3j)": 'Argument 1 to "simulate" has incompatible type "complex"',
    "hocket.trace_info()": 'Missing positional argument "traces"',
    'hocket.simulat("all_reduce")': 'has no attribute "simulat"; maybe "simulate"?',
    'text: str = hocket.simulate("all_reduce").time_ps': 'expression has type "int", variable has type "str"',
}


def _mypy(folder: Path, text: str) -> list[str]:
    (folder / "notebook.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "notebook.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.splitlines()


def test_functions_have_their_parameters_types_and_results(tmp_path: Path) -> None:
    (note,) = _mypy(tmp_path, NOTEBOOK)
    assert "SimulationResult" in note
    found = _mypy(tmp_path, "import hocket\n\n" + "".join(f"{each}\n" for each in MISTAKES))
    for line, said in enumerate(MISTAKES.values(), 3):
        assert any(each.startswith(f"notebook.py:{line}: error: ") and said in each for each in found), (said, found)
