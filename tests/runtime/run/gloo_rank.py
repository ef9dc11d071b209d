"""One rank of a gloo world that runs many jobs: a process that imports torch is slow to start, so it is started once.

`python gloo_rank.py FOLDER RANK`; FOLDER/jobs.pickle lists the jobs, rank 0 writes FOLDER/rows.pickle.
"""

import os
import pickle
import sys
from pathlib import Path

from hocket.runtime.run.gloo import GlooBackend
from hocket.runtime.run.measure import measure

folder, rank = Path(sys.argv[1]), int(sys.argv[2])
jobs = pickle.loads((folder / "jobs.pickle").read_bytes())
backend = GlooBackend(folder, rank, jobs[0].program.num_ranks)
rows = [list(measure(job, backend)) for job in jobs]
if rank == 0:
    (folder / "rows.pickle").write_bytes(pickle.dumps(rows))
backend.barrier()
os._exit(0)
