"""Measurements of a real gateway process, run as `python -m bench`; nothing of this is shipped."""
