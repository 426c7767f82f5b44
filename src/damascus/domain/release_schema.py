"""The published JSON Schema of a release's receipt: `python -m damascus.domain.release_schema FILE`."""

import json
import sys
from pathlib import Path

from damascus.domain.receipt_schema import DIALECT
from damascus.domain.release import ReleaseReceipt


def text() -> str:
    made = {"$schema": DIALECT, **ReleaseReceipt.model_json_schema(), "title": "release_receipt.json"}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), "utf-8")
