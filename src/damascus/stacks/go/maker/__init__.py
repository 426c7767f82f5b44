"""Programs that are started by the interpreter of a tool; copied beside its request, never imported here."""
