"""The terminal: commands and files of a model, in a working folder of each session and a sandbox.

`sandbox.py` and `program.py` start any program that way; they know nothing of models or sessions.
"""
