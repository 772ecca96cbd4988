"""A stand-in of Discord: the gateway, interactions by HTTP, and the HTTP API, on loopback."""
