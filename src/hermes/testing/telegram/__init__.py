"""Telegram's Bot API on loopback: strict, with faults on request.

Used by tests, `hermes channels try` and plugin authors: `python -m hermes.testing.telegram`.
"""
