"""Reads and compares pictures of pages for gate `visual`: pure, and run in the reading process (scanning/scan.py)."""
