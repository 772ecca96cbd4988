"""The REST API: programs send a message and get the reply."""
