"""A stand-in for Telegram's Bot API on loopback: strict, with faults on request.

`server.py` listens, `rules.py` knows every parameter, `html_text.py` parses markup, `state.py`
holds chats and messages, `updates.py` delivers updates, `people.py` turns what people do into
updates.
"""
