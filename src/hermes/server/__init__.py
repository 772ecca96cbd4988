"""The HTTP server: the listening socket, the app, and access control."""
