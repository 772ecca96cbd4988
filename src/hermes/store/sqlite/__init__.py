"""The embedded backend: SQLite in WAL mode, one writer with group commit, a reader beside it."""
