"""Pigeon: a strict stand-in chat platform, its channel, and counting tools.

The structure of a channel plugin: `manifest.toml`, `channel.py`, `inbound.py` and `outbound.py`; next
to them the platform's own server, which the tests and plugin authors run.
"""
