"""What the names of a Python module mean, by its imports: `overload` is typing's only if it comes from there."""

import ast
from dataclasses import dataclass, field

from damascus.stacks.python.text import own

TYPING = ("typing", "typing_extensions")


@dataclass
class Names:
    """`brought` are names that an import binds, and nothing else in the whole file does."""

    brought: dict[str, str] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tree: ast.Module) -> "Names":
        imported: dict[str, str] = {}
        bound: set[str] = set()
        for node in own(tree, ()):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        first = alias.name.partition(".")[0]
                        _put(imported, bound, alias.asname or first, alias.name if alias.asname else first)
                case ast.ImportFrom(module=module, names=names, level=level):
                    for alias in names:
                        _put(imported, bound, alias.asname or alias.name, f"{'.' * level}{module or ''}.{alias.name}")
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    bound.add(name)
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    bound.add(name)
                case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                    bound.add(name)
        return cls({name: whole for name, whole in imported.items() if name not in bound}, bound | set(imported))

    def meaning(self, node: ast.expr | None) -> str:
        """`typing.overload`, whatever it is called here; '' for what no import brought."""
        parts: list[str] = []
        while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.func if isinstance(node, ast.Call) else node.value
        if not isinstance(node, ast.Name) or node.id not in self.brought:
            return ""
        return ".".join([self.brought[node.id], *reversed(parts)])

    def is_typing(self, node: ast.expr | None, *names: str) -> bool:
        return self.meaning(node) in {f"{module}.{name}" for module in TYPING for name in names}

    def is_abstract(self, node: ast.expr) -> bool:
        return self.meaning(node) in {f"abc.abstract{kind}" for kind in ("method", "property", "classmethod")}

    def builtin(self, node: ast.expr | None, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name and name not in self.bound


def _put(imported: dict[str, str], bound: set[str], name: str, whole: str) -> None:
    """Brought twice by different imports, it may mean either: bound, and no more is known."""
    if imported.setdefault(name, whole) != whole:
        bound.add(name)
