"""How many tokens a text costs, estimated so that the truth is not above it.

A tokeniser is a vocabulary of megabytes, and each model has its own. What they share is how they cut a text before
they look anything up: words with the space before them, digits in threes, runs of punctuation, white space. This
counts those pieces and charges long ones for more than one token; what is not ASCII costs its bytes. On prose, specs
and code it lies above the counts of the byte-pair encodings in use; a test holds it against a real one.

A text never costs more than its bytes, and two texts together never more than each alone: the hand-off relies on both.
"""

import re

PIECE = re.compile(
    r" ?(?P<word>[A-Z]?[a-z]+)|(?P<capitals> ?[A-Z]+(?![a-z]))|(?P<digits> ?[0-9]+)|(?P<marks> ?[!-/:-@\[-`{-~]+)"
    r"|(?P<other> ?[^ -~\t\r\n\f\v]+)|(?P<space>[ \t\r\n\f\v]+(?= [^ \t\r\n\f\v])|[ \t\r\n\f\v]+)"
)
PER_TOKEN = {"word": 5, "capitals": 2, "digits": 3, "marks": 2}
INDENT = 4


def count(text: str) -> int:
    """Tokens of a text, rather too many than too few."""
    return sum(_cost(found.lastgroup, found[0]) for found in PIECE.finditer(text))


def _cost(kind: str | None, piece: str) -> int:
    if kind == "space":
        lines = piece.count("\n")
        return -(-lines // 2) + -(-(len(piece) - lines) // INDENT)
    bare = piece.removeprefix(" ")
    if kind == "other":
        return len(bare.encode("utf-8", errors="surrogatepass"))
    return -(-len(bare) // PER_TOKEN[kind or "word"])
