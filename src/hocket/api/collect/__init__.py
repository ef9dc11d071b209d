"""A job's collectives, captured into Chakra traces."""
