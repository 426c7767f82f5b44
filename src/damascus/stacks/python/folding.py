"""What a Python expression of constants comes to, without running it: names made at run time are names all the same."""

import ast
import base64
import binascii
import codecs
from collections.abc import Callable, Mapping

LIMIT = 10_000
Value = str | bytes | int | list["Value"]
Known = Mapping[str, Value]


class Unknown(Exception):
    """Not a constant, or more than we look at."""


def folded(node: ast.expr, known: Known) -> Value:
    """Raises Unknown."""
    try:
        value = _value(node, known)
    except (TypeError, ValueError, IndexError, KeyError, LookupError, AttributeError, RecursionError) as err:
        raise Unknown from err
    if isinstance(value, str | bytes | list) and len(value) > LIMIT:
        raise Unknown
    return value


def text_of(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, list):
        return " ".join(map(text_of, value))
    return str(value)


def _value(node: ast.expr, known: Known) -> Value:
    match node:
        case ast.Constant(value=str() | bytes() | int() as value):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [folded(part, known) for part in parts]
        case ast.JoinedStr(values=parts):
            return "".join(text_of(folded(part, known)) for part in parts)
        case ast.FormattedValue(value=value):
            return folded(value, known)
        case ast.BinOp(left=left, op=op, right=right):
            return _operated(folded(left, known), op, folded(right, known))
        case ast.Subscript(value=value, slice=index):
            return _part(folded(value, known), index, known)
        case ast.ListComp() | ast.GeneratorExp():
            return _listed(node, known)
        case ast.Call():
            return _called(node, known)
    raise Unknown


def _operated(left: Value, op: ast.operator, right: Value) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        return _number(left, op, right)
    if isinstance(op, ast.Add) and type(left) is type(right):
        return left + right  # type: ignore[operator]
    if isinstance(op, ast.Mod) and isinstance(left, str):
        return left % (tuple(right) if isinstance(right, list) else right)
    if isinstance(op, ast.Mult) and isinstance(left, str) and isinstance(right, int) and len(left) * right <= LIMIT:
        return left * right
    raise Unknown


def _number(left: int, op: ast.operator, right: int) -> int:
    if max(abs(left), abs(right)) > LIMIT:
        raise Unknown
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.BitXor():
            return left ^ right
    raise Unknown


def _part(value: Value, index: ast.expr, known: Known) -> Value:
    if isinstance(value, int):
        raise Unknown
    if isinstance(index, ast.Slice):
        ends = [None if one is None else _whole(one, known) for one in (index.lower, index.upper, index.step)]
        return value[slice(*ends)]
    return value[_whole(index, known)]


def _whole(node: ast.expr, known: Known) -> int:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_whole(node.operand, known)
    value = folded(node, known)
    if not isinstance(value, int):
        raise Unknown
    return value


def _listed(node: ast.ListComp | ast.GeneratorExp, known: Known) -> Value:
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])]:
            return [folded(node.elt, {**known, name: one}) for one in _items(folded(over, known))[:LIMIT]]
    raise Unknown


def _items(value: Value) -> list[Value]:
    if isinstance(value, int):
        raise Unknown
    return list(value)


METHODS = frozenset({"lower", "upper", "swapcase", "title", "strip", "replace", "removeprefix", "format", "split"})


def _called(node: ast.Call, known: Known) -> Value:
    given = [folded(one, known) for one in node.args if not isinstance(one, ast.Name) or one.id in known]
    match node.func:
        case ast.Name(id="map") if isinstance(node.args[0], ast.Name) and node.args[0].id == "chr":
            return [chr(one) for one in _items(given[-1]) if isinstance(one, int)]
        case ast.Name(id=name):
            return _builtin(name, given)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module not in known and module in MODULES:
            return MODULES[module](name, given)
        case ast.Attribute(value=owner, attr=name):
            return _method(folded(owner, known), name, given)
    raise Unknown


def _builtin(name: str, given: list[Value]) -> Value:
    match name, given:
        case "chr", [int() as number]:
            return chr(number)
        case "ord", [str() as char]:
            return ord(char)
        case (("str" | "list" | "tuple" | "iter"), [value]):
            return value
        case "reversed", [value]:
            return list(reversed(_items(value)))
        case (("bytes" | "bytearray"), [list() as numbers]):
            return bytes(one for one in numbers if isinstance(one, int))
    raise Unknown


def _method(owner: Value, name: str, given: list[Value]) -> Value:
    if name == "join" and isinstance(owner, str | bytes):
        return text_of(owner).join(map(text_of, _items(given[0])))
    if name == "decode" and isinstance(owner, bytes):
        return owner.decode("utf-8", errors="replace")
    if name == "encode" and isinstance(owner, str):
        return owner.encode()
    if name in METHODS and isinstance(owner, str):
        made = getattr(owner, name)(*given)
        return made if isinstance(made, str | list) else str(made)
    raise Unknown


def _base64(name: str, given: list[Value]) -> Value:
    data = given[0].encode() if isinstance(given[0], str) else given[0]
    decoders: dict[str, Callable[[bytes], bytes]] = {
        "b64decode": base64.b64decode,
        "urlsafe_b64decode": base64.urlsafe_b64decode,
        "b32decode": base64.b32decode,
        "b16decode": base64.b16decode,
        "b85decode": base64.b85decode,
        "a85decode": base64.a85decode,
        "unhexlify": binascii.unhexlify,
    }
    if name not in decoders or not isinstance(data, bytes):
        raise Unknown
    return decoders[name](data)


def _codecs(name: str, given: list[Value]) -> Value:
    match name, given:
        case (("decode" | "encode"), [str() as text, ("rot13" | "rot_13")]):
            return codecs.encode(text, "rot13")
        case "decode", [bytes() as data, ("hex" | "base64")]:
            return codecs.decode(data, str(given[1]))
    raise Unknown


def _bytes(name: str, given: list[Value]) -> Value:
    if name == "fromhex" and isinstance(given[0], str):
        return bytes.fromhex(given[0])
    raise Unknown


MODULES: dict[str, Callable[[str, list[Value]], Value]] = {
    "base64": _base64,
    "binascii": _base64,
    "codecs": _codecs,
    "bytes": _bytes,
    "bytearray": _bytes,
}
