"""Hermes as an MCP server: `/mcp`, for programs that speak the Model Context Protocol."""
