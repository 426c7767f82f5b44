"""Damascus turns specs into merged code with coding agents, and takes no agent's word for anything."""

__version__ = "0.1.0"
