"""The SDK is imported before the tests: Python 3.11 may fail to parse in a thread (gh-106905)."""

import hermes.tools.mcp.sdk_connection  # noqa: F401 - pytest rewrites what it imports, in any thread
