"""Programs on accelerators: one interpreter, for GPUs and for threads of this machine's processors."""
