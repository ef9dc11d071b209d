"""One rank of a gloo world that runs many tasks: a process that imports torch is slow to start, so it is started once.

`python gloo_rank.py FOLDER RANK`; FOLDER/tasks.pickle lists the tasks, FOLDER/N has the programs of the N-th; rank 0
writes FOLDER/rows.pickle. Each runs over gloo's own messages.
"""

import os
import pickle
import sys
from pathlib import Path

from hocket.runtime.run.gloo import Gloo
from hocket.runtime.run.measure import measure
from hocket.runtime.run.ranks import EngineRanks

folder, rank = Path(sys.argv[1]), int(sys.argv[2])
rows = []
for number, task in enumerate(pickle.loads((folder / "tasks.pickle").read_bytes())):
    gloo = Gloo(task, folder, rank)
    ranks = EngineRanks(task, rank, gloo.messages.transport(), folder / str(number), timeout_s=100)
    rows.append(list(measure(task, ranks, gloo.own if task.compare else None)))
if rank == 0:
    (folder / "rows.pickle").write_bytes(pickle.dumps(rows))
ranks.barrier()
os._exit(0)
