"""A homeserver of Matrix on loopback: the part of the client-server API that a bot uses, strictly.

Used by tests, `hermes channels try` and plugin authors: `python -m hermes.testing.matrix`.
"""
