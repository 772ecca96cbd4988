"""Agents of other systems, called over A2A."""
