"""What Tab completes in bash."""

import os
import subprocess
import sys
from pathlib import Path

EXPECTED = {
    "hocket trace conv": "convert",
    "hocket simulate --mo": "--model",
    "hocket simulate --model co": "congestion",
    "hocket synthesize all_re": "all_reduce",
    "hocket simulate -t dgx-h1": "dgx-h100",
    "hocket topology show dgx-a": "dgx-a100",
    "hocket nccl choose --topology dgx-b2": "dgx-b200",
    "hocket synthesize all_reduce -t mes": "mesh",
    "hocket doc": "doctor",
    "hocket view --li": "--listen --list",
    "hocket simulate -t cluster.y": "",  # files are the shell's own
}
# As bash calls what `complete` names: the words on the line and the number of the one under the cursor.
TABS = 'eval "$(hocket --show-completion bash)"\n' + "".join(
    f'COMP_WORDS=({typed}) COMP_CWORD={len(typed.split()) - 1}; _hocket_completion hocket; echo "${{COMPREPLY[*]}}"\n'
    for typed in EXPECTED
)


def test_commands_options_and_known_values_are_completed(tmp_path: Path) -> None:
    command = tmp_path / "hocket"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hocket "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", TABS], capture_output=True, text=True, env=environment, check=True)
    assert dict(zip(EXPECTED, done.stdout.splitlines(), strict=True)) == EXPECTED, done.stderr
