"""The model gateway: the one way from a confined agent to a model, counted and with the key kept outside."""
