"""Mutation runs: puts single faults into Hermes and checks that a test notices each of them.

`make mutants` runs `tests/mutants/__main__.py`; docs/mutants.md describes it. Nothing here writes into
the source tree: a fault exists only in the memory of the fork that runs its tests.
"""
