"""Hermes: the router between people on chat platforms and AI agents on models."""

__version__ = "0.1.0"
