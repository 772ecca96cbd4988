"""The embedded backend: SQLite in WAL mode, one writer with group commit, and a separate reader."""
