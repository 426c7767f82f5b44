"""Other people's words as Markdown in which they mean nothing: no HTML, no mention, no link, no cell of a table.

A forge looks for mentions, issue numbers and addresses in the text that was rendered, so that an entity does not hide
them: a character of no width comes in between. What only hides or turns text around is left out.
"""

import re
import unicodedata

NO_WIDTH = "\u200b"
SPECIAL = re.compile(r"[\\`*_{}\[\]()~$^=#]|\A[-+]")
IN_FILE = re.compile(r"[\\`*_\[\]~]|\A[-+#=]")
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"})
MEANS = re.compile(r"@|#(?=\w)|!(?=\d)|(?i:\bGH(?=-\d))|(?<=:)(?=//)|(?i:\bwww(?=\.))")
"""A mention, an issue, a pull of Gitea's, an issue of GitHub's in its other form, and the beginning of an address."""
TICKS = re.compile("[✅✔☑✓🗸🗹🟢]\ufe0f?")
"""In our files a tick stands for a run that ended well. In other people's words it is only a mark."""
PLAIN_MARK = "·"
PIPE = "¦"
HIDES = {"Cc", "Cf", "Co", "Cs", "Cn"}
"""Unicode's categories of what is no character to be seen: control, direction, private, half a pair, unassigned."""


def prose(text: str, most: int) -> str:
    """One line of plain text."""
    line = MEANS.sub(lambda found: found[0] + NO_WIDTH, cut(seen(text), most))
    return SPECIAL.sub(lambda found: f"\\{found[0]}", line).translate(ENTITIES)


def filed(text: str, most: int) -> str:
    """One line of plain text for a file of a repository, where nobody looks for mentions: with nothing in it that can't
    be seen, no more marks than it needs to stay words, and no tick."""
    line = IN_FILE.sub(lambda found: f"\\{found[0]}", cut(TICKS.sub(PLAIN_MARK, seen(text)), most))
    return line.translate(ENTITIES).replace("://", "&#58;//")


def code(text: str, most: int) -> str:
    """One line to the letter, but for a pipe, which would end a cell of a table."""
    line = cut(seen(text), most).replace("|", PIPE)
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def quoted(text: str, most: int) -> str:
    """Several lines, each marked as somebody's words."""
    lines = [prose(line, most) for line in cut_lines(text, most)]
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def cut_lines(text: str, most: int) -> list[str]:
    """By lines; runs of empty ones are one."""
    kept = text if len(text) <= most else text[: most - 1] + "…"
    return re.sub(r"\n\s*\n+", "\n\n", kept.replace("\r\n", "\n").strip()).split("\n")


def seen(text: str) -> str:
    """Without what can't be seen; each run of white space is a blank."""
    if text.isprintable():  # nothing of HIDES in it, and no white space but blanks
        return " ".join(text.split())
    shown = "".join(" " if each.isspace() else each for each in text if each.isspace() or _is_shown(each))
    return " ".join(shown.split())


def _is_shown(each: str) -> bool:
    return unicodedata.category(each) not in HIDES


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
