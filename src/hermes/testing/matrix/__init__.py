"""A stand-in homeserver: strict, on loopback, with faults on request."""
