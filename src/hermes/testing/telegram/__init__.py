"""A stand-in for Telegram's Bot API on loopback: strict, with faults on request.

`server.py` listens, `rules.py` knows every parameter, `html_text.py` reads markup, `state.py` keeps
chats and messages, `updates.py` hands out what happens, `people.py` turns what people do into updates.
"""
