"""The write pipeline: what every write of an agent passes while it works, and the diff once more afterwards."""
