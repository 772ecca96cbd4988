"""Pigeon: a strict stand-in chat platform, the channel that speaks to it, and counting tools.

The shape of a channel plugin: `manifest.toml`, `channel.py`, `inbound.py`, `outbound.py` and
`client.py`; beside them the platform's own server, which the tests and plugin authors run.
"""
