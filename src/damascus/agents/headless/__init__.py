"""Agents that are one command for one task and tell what they do as lines of JSON: codex, opencode."""
