"""`python -I -S run.py <module> <folder of our programs> <words …>`: what the small scripts of the kit start."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    program = import_module(f"damascus.stacks.runners.{sys.argv[1]}")
    sys.exit(program.main(sys.argv[2], sys.argv[3:]))
