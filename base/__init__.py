"""What every folder stands on: the native engine's errors, units, and files that are never half written."""
