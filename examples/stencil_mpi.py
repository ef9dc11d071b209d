"""Jacobi iterations on rows of a grid: neighbours exchange their edges, all ranks agree on the change. Needs mpi4py.

mpiexec -n 4 python stencil_mpi.py [STEPS]
"""

import sys

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
WIDTH = 1024

world = MPI.COMM_WORLD
grid = np.random.default_rng(world.rank).random((256, WIDTH))
before = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
behind = world.rank + 1 if world.rank < world.size - 1 else MPI.PROC_NULL
above, below = np.zeros(WIDTH), np.zeros(WIDTH)
change = np.zeros(1)

for _ in range(STEPS):
    requests = [world.Irecv(above, before), world.Irecv(below, behind)]
    requests += [world.Isend(grid[0], before), world.Isend(grid[-1], behind)]
    inner = (grid[:-2] + grid[2:] + np.roll(grid[1:-1], 1, axis=1) + np.roll(grid[1:-1], -1, axis=1)) / 4
    MPI.Request.Waitall(requests)
    change[0] = abs(inner - grid[1:-1]).max()
    grid[1:-1] = inner
    world.Allreduce(MPI.IN_PLACE, change, MPI.MAX)
    MPI.Pcontrol(1)
