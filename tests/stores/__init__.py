"""The store as tests use it: one opener for all of them, on the engine that the run names."""
