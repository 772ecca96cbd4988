"""The web chat: one page in a browser, served by the gateway itself."""
