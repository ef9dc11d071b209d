"""torch.distributed's collectives on all ranks of a node, every value checked and every call timed: what the stock
library does, and what is served in its place."""
