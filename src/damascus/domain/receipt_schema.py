"""The published JSON Schema of a receipt, made from its classes: `python -m damascus.domain.receipt_schema FILE`."""

import json
import sys
from pathlib import Path

from damascus.domain.receipt import BuildReceipt

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def text() -> str:
    made = {"$schema": DIALECT, **BuildReceipt.model_json_schema(), "title": "build_receipt.json"}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), "utf-8")
