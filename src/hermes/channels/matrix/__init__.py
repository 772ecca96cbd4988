"""Matrix: rooms on the operator's own homeserver, over the client-server API as plain HTTP."""
