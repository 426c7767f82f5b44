"""Profile `full`: authors write, critics attack, evidence decides. full.py has the twelve steps, loops.py the loops."""
