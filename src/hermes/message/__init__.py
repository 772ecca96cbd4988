"""The words of Hermes: frozen values without I/O, spoken by every other package."""
