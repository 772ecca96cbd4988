"""Answers that are made again from what a turn had frozen, without the turn."""
