"""Python programs that start with Hermes already imported: each is a fork of one warm interpreter.

A fork is a process of its own with its own arguments, environment, standard streams and exit code;
only the half second of CPU that importing takes is saved. Where the start itself is the point, a test
runs `sys.executable`.
"""
