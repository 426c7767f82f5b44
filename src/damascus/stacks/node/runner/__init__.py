"""Programs that stand before the runners of this stack; copied into the kit (stacks/kit.py), never imported here."""
