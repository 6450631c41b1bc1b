"""What agents may use: Python functions and MCP servers."""
