"""The MCP client: tools that other programs offer, over pipes or HTTP.

`servers.McpServers` is the entry point. Only `sdk_link` and what it uses import the official `mcp`
package, which takes a second: they are loaded when the first server is started, never before.
"""
