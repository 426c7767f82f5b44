"""The forge without a server: branches in the mirror, pulls as blobs, CI on this host."""
