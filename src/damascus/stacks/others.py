"""Names of languages that have no record yet: what their tools leave in a tree and where their programs lie. And what
all stacks say together, for those who ask about no stack in particular."""

import re
from collections.abc import Callable, Iterator

from damascus.stacks import REGISTRY
from damascus.stacks.stack import Footprint, Toolchain

OTHER_FOOTPRINT = Footprint(
    lock_files=("Gemfile.lock", "Gemfile", "composer.lock", "composer.json", ".tool-versions"),
    package_marks=("autoload.php",),
    caches=(".gradle",),
    left=(".DS_Store",),
    heavy=(".cache", ".terraform"),
)
OTHER_TOOLCHAIN = Toolchain(
    find_themselves=("JAVA_HOME",),
    below_home=(".asdf", ".rbenv", ".sdkman/candidates", ".local/share/mise/installs"),
)

OTHER_CODE = re.compile(
    r".*\.(?:c|cc|cpp|cxx|h|hpp|java|kt|kts|scala|rb|php|cs|fs|vb|swift|m|mm|dart|lua|pl"
    r"|pm|r|jl|ex|exs|erl|hs|ml|clj|groovy|sh|bash|zsh|ps1|vue|svelte|zig|nim)",
    re.IGNORECASE,
)
"""Code of languages that have no stack here: told by name where it changed."""


def footprints() -> Iterator[Footprint]:
    yield from (stack.footprint for stack in REGISTRY.values())
    yield OTHER_FOOTPRINT


def toolchains() -> Iterator[Toolchain]:
    yield from (stack.toolchain for stack in REGISTRY.values())
    yield OTHER_TOOLCHAIN


def names(of: Callable[[Footprint], tuple[str, ...]]) -> tuple[str, ...]:
    """Of all footprints, each name once."""
    return tuple(dict.fromkeys(name for footprint in footprints() for name in of(footprint)))
