"""A stand-in of QQ's bots: the gateway or signed calls, and the HTTP API, on loopback."""
