"""Telegram: the Bot API by long polling or by webhook."""
