"""In a sandbox of its own: schemathesis asks the server, through the Unix socket that leads to it.

    python -I asking.py SOCKET [ARGUMENT of schemathesis run…]

`{url}` among the arguments is the address. Only what the server answers reaches this process: its code can't touch it.
"""

import os
import sys

from schemathesis.cli import schemathesis

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from leading import lead_to  # type: ignore[import-not-found]


def main(path: str, words: list[str]) -> None:
    url = f"http://127.0.0.1:{lead_to(path)}"
    schemathesis(args=["run", *(url if word == "{url}" else word for word in words)], prog_name="schemathesis")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
