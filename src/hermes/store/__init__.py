"""Backends of the store port: one folder each, one contract suite for all."""
