"""QQ: the gateway or signed calls in, the HTTP API out."""
