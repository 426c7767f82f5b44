"""Claude Code as an agent: its process, its control protocol, its transcript."""
