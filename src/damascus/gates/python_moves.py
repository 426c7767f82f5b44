"""Where the story moved what a Python test of the base imports, by the code itself; the test's own words stay.

Only what is gone from its place may be looked up at another one, and only where the story's code defines it anew:
a test of `calc.one` is run on `shop.calc.one` if `calc` has no `one` any more and nothing else can be meant.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.gates.base_tests import belongs_to_tests
from damascus.stacks.written import READ_LIMIT

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass
class Code:
    """The modules of one commit, tests left out, and what each defines."""

    candidate: Candidate
    commit: Sha
    _names: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)

    def module(self, dotted: str) -> str | None:
        """The file of a module: from the root, else the only one of that name below a folder."""
        stem = dotted.replace(".", "/")
        files = self.candidate.files(self.commit)
        ends = (f"{stem}.py", f"{stem}/__init__.py")
        rooted = [end for end in ends if end in files]
        found = rooted or [path for path in files if path.endswith(tuple(f"/{end}" for end in ends))]
        code = [path for path in found if not belongs_to_tests(self.candidate, path)]
        return code[0] if len(code) == 1 else None

    def has(self, dotted: str, name: str) -> bool:
        path = self.module(dotted)
        if self.module(f"{dotted}.{name}"):
            return True
        bound = self.bound(path)[0] if path else set()
        return name in bound or "*" in bound or "__getattr__" in bound

    def bound(self, path: str) -> tuple[set[str], set[str]]:
        """Names that a module has, and of them those that it defines itself."""
        if path not in self._names:
            self._names[path] = _bound(self.candidate.read(self.commit, path) or b"")
        return self._names[path]


def _bound(source: bytes) -> tuple[set[str], set[str]]:
    try:
        tree = ast.parse(source[:READ_LIMIT])
    except UNREADABLE:
        return {"*"}, set()
    brought: set[str] = set()
    defined: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            brought |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.If | ast.Try):
            defined |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _stored(part)}
    return brought | defined, defined


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


class Moves(ast.NodeTransformer):
    """Rewrites one test's tree. `words` are names that the story gave anew (renamed_words)."""

    def __init__(self, candidate: Candidate, words: Mapping[str, str]) -> None:
        self._old, self._new = Code(candidate, candidate.base), Code(candidate, candidate.commit)
        self._words = words
        self._homes = _homes(candidate, self._old, self._new)
        self._aliases: dict[str, str] = {}
        self.uses: set[str] = set()

    def rewritten(self, source: bytes) -> bytes | None:
        """The test with its imports where the code is now; None where nothing is to be done or can be."""
        try:
            tree = ast.parse(source[:READ_LIMIT])
            before = ast.dump(tree)
            self.uses = {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute)}
            new = ast.fix_missing_locations(self.visit(tree))
            return None if ast.dump(new) == before else ast.unparse(new).encode()
        except UNREADABLE:
            return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST]:
        if node.level or node.module is None:
            return node
        return [self._from(node.module, alias) for alias in node.names]

    def _from(self, module: str, alias: ast.alias) -> ast.AST:
        name = self._words.get(alias.name, alias.name)
        bound = alias.asname or self._words.get(alias.name, alias.name)
        if self._new.has(module, name) or not self._old.has(module, alias.name):
            return ast.ImportFrom(module, [ast.alias(name, alias.asname)], 0)
        submodule = f"{module}.{alias.name}"
        if self._old.module(submodule):
            target = self._module_now(submodule)
            return ast.Import([ast.alias(target, bound)]) if target else ast.ImportFrom(module, [alias], 0)
        home = self._homes.get(name)
        return ast.ImportFrom(home or module, [ast.alias(name, bound if bound != name else None)], 0)

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        kept: list[ast.AST] = []
        for alias in node.names:
            gone = self._old.module(alias.name) and not self._new.module(alias.name)
            target = self._module_now(alias.name) if gone else None
            if target is None:
                kept.append(ast.Import([alias]))
                continue
            bound = alias.asname or self._words.get(alias.name, alias.name)
            if "." in bound:
                bound = self._aliases[alias.name] = bound.replace(".", "_")
            kept.append(ast.Import([ast.alias(target, bound)]))
        return kept

    def _module_now(self, dotted: str) -> str | None:
        """The one module that now defines what this test uses of a module that is gone."""
        path = self._old.module(dotted)
        own = self._old.bound(path)[1] if path else set()
        used = {self._words.get(name, name) for name in own & self.uses}
        homes = {self._homes.get(name) for name in used}
        return homes.pop() if len(homes) == 1 else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if (alias := self._aliases.get(ast.unparse(node))) is not None:
            return ast.Name(alias, node.ctx)
        node.attr = self._words.get(node.attr, node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._words.get(node.id, node.id)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        node.arg = self._words.get(node.arg, node.arg) if node.arg else None
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`monkeypatch.setattr("calc.one", …)` names what is gone; every other text is left as it is."""
        if not isinstance(node.value, str):
            return node
        module, _, name = node.value.rpartition(".")
        named = module.replace(".", "").isidentifier() and name.isidentifier()
        if named and self._old.module(module) and self._old.has(module, name) and not self._new.has(module, name):
            now = self._words.get(name, name)
            node.value = f"{self._homes[now]}.{now}" if now in self._homes else node.value
        return node


def _homes(candidate: Candidate, old: Code, new: Code) -> dict[str, str]:
    """Every name that the story's code defines at a place where it was not before, with the module; one place only."""
    homes: dict[str, str] = {}
    twice: set[str] = set()
    for file in candidate.changed:
        if not file.path.endswith(".py") or file.status == "D" or belongs_to_tests(candidate, file.path):
            continue
        before = old.bound(file.path)[1] if file.status != "A" else set()
        module = _dotted(candidate, file.path, new)
        for name in new.bound(file.path)[1] - before:
            twice |= {name} & set(homes)
            homes[name] = module
    return {name: module for name, module in homes.items() if name not in twice}


def _dotted(candidate: Candidate, path: str, code: Code) -> str:
    """As it is imported: from the outermost folder above it that is a package, or that holds no code of its own."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    files = candidate.files(code.commit)
    if parts[0] in ("src", "lib") and len(parts) > 1 and "/".join([parts[0], "__init__.py"]) not in files:
        parts = parts[1:]
    return ".".join(parts)
