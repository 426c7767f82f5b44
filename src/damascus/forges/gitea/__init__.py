"""Gitea and Forgejo."""
