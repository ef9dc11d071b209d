"""InfraGraph's files, read and written."""
