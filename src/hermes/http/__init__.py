"""Serving HTTP: routes, bodies, errors, server-sent events, and which origins may call."""
