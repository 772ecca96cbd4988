"""The edges of Hermes as small Protocols; adapters fit them, and the core knows nothing else."""
