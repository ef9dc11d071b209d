"""How long it takes: replays traces and schedules on a topology, next to the physical bound."""
