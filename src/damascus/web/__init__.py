"""The window: pages over what `people/` answers and `telling/` says. Nothing about stories is decided here."""
