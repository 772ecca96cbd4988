"""A homeserver that stands in for a real one: strict, on loopback, with faults on request."""
