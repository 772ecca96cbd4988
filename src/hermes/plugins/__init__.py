"""What loads adapters: manifests, the loader, registries and hooks."""
