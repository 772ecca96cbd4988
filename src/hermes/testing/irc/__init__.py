"""An IRC server on loopback, with people on it: strict about order, lengths, nicks and floods.

Used by tests and plugin authors: `python -m hermes.testing.irc`.
"""
