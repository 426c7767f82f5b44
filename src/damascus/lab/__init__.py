"""The misbehaviour benchmark: lies and honest controls as data, played through the command-agent contract."""
