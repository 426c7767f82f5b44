"""The project as tools for an agent, by the Model Context Protocol (docs/mcp.md). Needs the extra `mcp`."""
