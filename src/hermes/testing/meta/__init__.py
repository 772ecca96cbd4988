"""WhatsApp (Cloud API and 360dialog), Instagram and Messenger on loopback, as strict as the real ones.

Used by tests, `hermes channels try` and plugin authors: `python -m hermes.testing.meta whatsapp`.
"""
