"""LiteLLM as a gateway of our own: its place, its configuration, its process."""
