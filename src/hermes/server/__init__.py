"""The HTTP server: the listening socket, the app, and who may come in."""
