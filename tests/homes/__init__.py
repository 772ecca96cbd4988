"""Homes made by earlier versions of Hermes, kept as they were, and the script that makes one."""
