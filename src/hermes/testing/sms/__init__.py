"""Twilio's messages on loopback, as strict as the real one.

Used by tests, `hermes channels try` and plugin authors: `python -m hermes.testing.sms`.
"""
