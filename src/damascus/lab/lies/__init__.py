"""Agents that lie, by what they lie about or in."""
