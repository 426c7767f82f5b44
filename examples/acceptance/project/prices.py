"""Prices in cents."""
