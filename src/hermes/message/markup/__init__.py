"""Markdown as a model that every platform's renderer walks: parse, write, split, plain text. Pure."""
