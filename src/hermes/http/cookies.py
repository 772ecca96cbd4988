"""Cookies of a request: one is found by its name, whatever the others look like. Pure."""


def cookie_in(cookies: str, name: str) -> str | None:
    """Return the value of a cookie in a Cookie header."""
    for pair in cookies.split(";"):
        found, _, value = pair.strip().partition("=")
        if found == name:
            return value
    return None
