"""Python code that looks whether it is tested: imports of a runner, its variables, its modules, its frames.

A name of a runner in a text is no reference by itself (a README generator, a command to run); it is one where the same
file looks at what is loaded, set, called or started.
"""

import ast
import re
from collections.abc import Collection, Iterator

from damascus.stacks.python.folding import Known, Unknown, Value, folded, text_of
from damascus.stacks.reference import OUR_PLACE, Reference

RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "nose2", "xdist", "pluggy", "hypothesis", "conftest"})
SURFACES = frozenset(
    {"modules", "argv", "orig_argv", "environ", "environb", "getenv", "_getframe", "stack", "currentframe"}
    | {
        "extract_stack",
        "format_stack",
        "walk_stack",
        "_current_frames",
        "get_objects",
        "get_referrers",
        "find_spec",
        "import_module",
    }
    | {"__import__", "globals", "exec", "eval", "f_back", "tb_frame", "current_thread", "meta_path", "getppid"}
    | {"Process", "cmdline", "_data", "getenvb", "inspect", "path_importer_cache", "metadata", "builtins"}
)
FRAMES = frozenset(
    {"_getframe", "stack", "currentframe", "extract_stack", "format_stack", "walk_stack", "f_back", "tb_frame"}
    | {"_current_frames", "getouterframes"}
)
STATES = {
    "is_enabled": ("faulthandler",),
    "unraisablehook": ("sys",),
    "__unraisablehook__": ("sys",),
    "if_nameindex": ("socket",),
}
"""What is otherwise under a runner, or in a judge's cage."""
TRACERS = frozenset({"settrace", "gettrace", "setprofile", "getprofile", "monitoring"})
STARTS = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "system", "execv", "execvp", "add_argument", "install"}
)
WORDS = re.compile(r"pytest|py\.test|PYTEST|DAMASCUS_|(?:^|[\s,./])_?unittest\b|/(?:cmdline|environ)$")
ALWAYS = re.compile(
    r"PYTEST_\w|PYTEST_CURRENT|DAMASCUS_\w|RUNNER_(?:REPORTS|ROOT|LINES)|/proc/self/(?:cmdline|environ)|^EncodedFile$|"
    + OUR_PLACE
)
OF_TESTS = re.compile(r"tests|test_\w+|\w+_test|conftest")
"""A module of the project's own tests: whoever is code has no business there."""
TESTISH = re.compile(r"(?:^|[^a-z])tests?(?:$|[^a-z])|test_|_test", re.IGNORECASE)
OF_VARIABLE = "PYTEST_CURRENT_TEST"
HASHES = frozenset({"sha256", "sha1", "md5", "sha512", "blake2b", "blake2s", "crc32", "adler32"})
LISTS = frozenset({"environ", "environb", "modules", "argv", "orig_argv"})
LOOKUPS = frozenset({"startswith", "endswith", "find", "index", "count", "search", "match", "fullmatch", "fnmatch"})


def references(source: bytes, _path: str) -> list[Reference]:
    """Empty for what can't be parsed: such a file does not run either."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(set(_references(tree)))


def _references(tree: ast.Module) -> Iterator[Reference]:
    known = _constants(tree)
    texts = list(_texts(tree, known))
    names = {name for node in ast.walk(tree) for name in _names(node)} | {text for _, text in texts if text in SURFACES}
    frames = _looks_at_frames(tree) or any(text in FRAMES for _, text in texts)
    for node in ast.walk(tree):
        yield from _imported(node)
        if isinstance(node, ast.Attribute) and node.attr in TRACERS and _is_name(node.value, "sys", "threading"):
            yield Reference(node.lineno, f"sys.{node.attr}")
        yield from _by_state(node)
    for node, text in texts:
        if ALWAYS.search(text) or (WORDS.search(text) and names & SURFACES):
            yield Reference(node.lineno, f"{text[:40]!r}")
        elif frames and TESTISH.search(text):
            yield Reference(node.lineno, f"frames and {text[:40]!r}")
    yield from _looked_up(tree, known, names)


def _by_state(node: ast.AST) -> Iterator[Reference]:
    """What differs where code is tested: a runner's hooks, a build with assertions, work that is done in one."""
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in STATES.get(name, ()):
            yield Reference(node.lineno, f"{owner}.{name}")
        case ast.Name(id="__debug__"):
            yield Reference(node.lineno, "__debug__")
        case ast.Assert(test=asked) if any(isinstance(part, ast.NamedExpr) for part in ast.walk(asked)):
            yield Reference(node.lineno, "an assertion that does the work")


def _looks_at_frames(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="f_back" | "tb_frame"):
                return True
            case ast.Attribute(value=ast.Name(id="inspect" | "sys" | "traceback"), attr=name) if name in FRAMES:
                return True
            case ast.ImportFrom(module="inspect" | "sys" | "traceback", names=names):
                if any(one.name in FRAMES for one in names):
                    return True
    return False


def _is_name(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name):
            yield name


def _imported(node: ast.AST) -> Iterator[Reference]:
    match node:
        case ast.Import(names=names):
            modules = [one.name for one in names]
        case ast.ImportFrom(module=module, names=names):
            modules = [module or "", *(f"{module or ''}.{one.name}" for one in names if module is None)]
            if node.level and module:
                modules = [f".{module}"]
        case _:
            return
    for module in modules:
        parts = module.split(".")
        if parts[0] in RUNNERS or any(OF_TESTS.fullmatch(part) for part in parts):
            yield Reference(node.lineno, f"import {module}")


def _constants(tree: ast.Module) -> dict[str, Value]:
    """Names that the module or a function gives one constant value to."""
    known: dict[str, Value] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                known[node.targets[0].id] = folded(node.value, known)
            except Unknown:
                continue
    return known


def _texts(tree: ast.Module, known: Known) -> Iterator[tuple[ast.expr, str]]:
    """Every text, put together where it is made of parts; not docstrings, not what is only run as a command."""
    skipped = {id(part) for node in ast.walk(tree) for part in _harmless(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in skipped and not isinstance(node, ast.Name):
            try:
                yield node, text_of(folded(node, known))
            except Unknown:
                continue


def _harmless(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            yield node.value
        case ast.Call(func=called) if _last(called) in STARTS:
            for argument in (*node.args, *(word.value for word in node.keywords)):
                yield from ast.walk(argument)
        case ast.Raise(exc=ast.expr() as raised):
            yield from ast.walk(raised)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _looked_up(tree: ast.Module, known: Known, names: set[str]) -> Iterator[Reference]:
    """A part of a runner's variable or name that is looked for among the variables, arguments or modules there are."""
    if names & HASHES and _iterates(tree, LISTS):
        yield Reference(1, "a hash of every variable or module")
    if not names & LISTS:
        return
    started = "orig_argv" in names or _iterates(tree, {"argv", "modules"}) or any(map(_program, ast.walk(tree)))
    for node in ast.walk(tree):
        for asked in _asked(node):
            try:
                text = text_of(folded(asked, known))
            except Unknown:
                continue
            if _part_of_a_name(text) or (started and TESTISH.search(text)):
                yield Reference(asked.lineno, f"{text[:40]!r}")


def _part_of_a_name(text: str) -> bool:
    upper = (
        len(text) >= 3 and text.isupper() and (OF_VARIABLE.startswith(text) or ("TEST" in text and text in OF_VARIABLE))
    )
    return upper or (len(text) >= 5 and any(text in name for name in ("pytest", "unittest")))


def _program(node: ast.AST) -> bool:
    """`sys.argv[0]`: how this was started, not what it was asked."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="argv") | ast.Name(id="argv"), slice=ast.Constant(value=0)):
            return True
    return False


def _asked(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in LOOKUPS:
            yield from arguments


def _iterates(tree: ast.Module, what: Collection[str]) -> bool:
    over = [node.iter for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    return any(name in what for node in over for part in ast.walk(node) for name in _names(part))
