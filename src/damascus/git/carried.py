"""A commit as text, with all that it has and its base has not: for whoever has the base and not the commit."""

import base64
import json
import zlib
from collections.abc import Iterable

from damascus.domain.ids import Sha
from damascus.git.objects import Objects
from damascus.git.transfer import needed

MOST_OBJECTS = 20_000
LARGEST = 1_500_000


def as_text(objects: Objects, base: Sha, commit: Sha) -> str | None:
    """None: it is larger than a row should be, or something of it is missing."""
    try:
        found = objects.find(list(needed(objects, base, commit, MOST_OBJECTS)))
    except (KeyError, OverflowError):
        return None
    told = [[each.kind, base64.b64encode(each.data).decode()] for each in found if each is not None]
    text = base64.b64encode(zlib.compress(json.dumps(told).encode())).decode()
    return json.dumps({"commit": commit, "base": base, "objects": text}) if len(text) <= LARGEST else None


def brought(objects: Objects, texts: Iterable[str]) -> None:
    """Each object is written under the name that its content has: nothing can pass for another."""
    for text in texts:
        for kind, data in json.loads(zlib.decompress(base64.b64decode(json.loads(text)["objects"]))):
            objects.write(kind, base64.b64decode(data))
