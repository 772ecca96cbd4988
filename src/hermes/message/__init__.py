"""The shared values of Hermes: frozen, without I/O, used by every other package."""
