"""Discord: the gateway and HTTP interactions in, the HTTP API out."""
