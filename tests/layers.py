"""Where a source starts processes, writes files or speaks to people by itself, past `hocket.base.processes`, `files`,
`scratch` and `notices`.

A name counts wherever it stands, called or handed on, under whatever name it was imported. Of methods, whose objects
nobody knows, those count that only files have, or that say a mode to write in.
"""

import ast
import re
from collections.abc import Iterator

#: Dotted names that start processes.
STARTS = re.compile(
    r"subprocess\.(run|Popen|call|check_call|check_output|getoutput|getstatusoutput)"
    r"|os\.(fork|forkpty|exec\w+|spawn\w+|posix_spawnp?|system|popen)|pty\.(fork|spawn)"
    r"|multiprocessing\.(Process|Pool|Manager|get_context|set_start_method|pool\.\w+|context\.\w+)"
    r"|concurrent\.futures\.(process\.)?ProcessPoolExecutor|asyncio\.create_subprocess_\w+"
)
#: Those that write, name or rename files.
WRITES = re.compile(
    r"tempfile\.(?!gettempdirb?$)\w+|shutil\.(copy|copy2|copyfile|copytree|move|make_archive|unpack_archive)"
    r"|os\.(replace|renames?|link|symlink|mkfifo|mknod|truncate|makedirs)|numpy\.(save|savez|savez_compressed|savetxt)"
    r"|io\.FileIO|zipfile\.ZipFile|tarfile\.open|torch\.save"
)
#: Those that speak to people.
SPEAKS = re.compile(
    r"print|pprint\.pprint|(typer|click)\.(echo|secho)|sys\.(__)?std(out|err)(__)?\.write|warnings\.warn(_explicit)?"
    r"|logging\.\w+"
)
#: Methods of files' names, and of arrays.
_METHODS = (
    "write_text",
    "write_bytes",
    "touch",
    "rename",
    "symlink_to",
    "hardlink_to",
    "tofile",
    "to_csv",
    "to_parquet",
)
_OPENS = ("open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "os.fdopen")
_WRITING = re.compile(r"(?=.*[wax+])[rwaxbt+]+")


def bypasses(source: str) -> Iterator[tuple[int, str]]:
    """The lines at which the source does so, and by what."""
    tree = ast.parse(source)
    known = dict(_imported(tree))
    for node in _walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and not isinstance(node.ctx, ast.Store):
            name = _dotted(node, known)
            if any(pattern.fullmatch(name) for pattern in (STARTS, WRITES, SPEAKS)):
                yield node.lineno, name
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((node.lineno, name) for name in names if STARTS.fullmatch(name) or WRITES.fullmatch(name))
        elif isinstance(node, ast.Call) and (name := _writes(node, known)):
            yield node.lineno, name


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of types' annotations, which do nothing."""
    rest = [tree]
    while rest:
        node = rest.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                rest += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names in the source, and what they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    """`os.path.join` for that; "" for what is no name of a module's."""
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, known)}.{node.attr}"
    return ""


def _writes(call: ast.Call, known: dict[str, str]) -> str | None:
    """What a call of `open` or of a method writes by; None: it does not."""
    name = _dotted(call.func, known)
    named = [each.value for each in call.keywords if each.arg in ("mode", "flags")]
    modes = [*call.args, *named]
    if name == "os.open":
        flags = ast.dump(call)
        return name if "O_WRONLY" in flags or "O_RDWR" in flags or "O_CREAT" in flags else None
    if name in _OPENS:
        said = call.args[1:] + named
        constant = [each.value for each in said if isinstance(each, ast.Constant)]
        unknown = any(not isinstance(each, ast.Constant) for each in said[:1])
        return name if unknown or any(_WRITING.fullmatch(str(each)) for each in constant) else None
    if not isinstance(call.func, ast.Attribute):
        return None
    method = call.func.attr
    if method == "open":
        constant = [each.value for each in modes if isinstance(each, ast.Constant)]
        return f".{method}" if any(_WRITING.fullmatch(str(each)) for each in constant) else None
    # What a text replaces is two arguments; a path takes one.
    takes_name = method == "replace" and len(call.args) == 1 and not call.keywords
    return f".{method}" if method in _METHODS or takes_name else None
