"""Results in a folder, looked at in a browser."""
