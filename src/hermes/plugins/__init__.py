"""Loads adapters: manifests, the loader, the registry and hooks."""
