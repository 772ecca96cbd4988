"""Slack on loopback: its Web API, Socket Mode and Events API, as strict as the real one.

Used by tests, `hermes channels try` and plugin authors: `python -m hermes.testing.slack`.
"""
