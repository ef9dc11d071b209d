"""Programs of independent simulators, which run in their own processes and share no code with the engine."""
