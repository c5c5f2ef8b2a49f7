# SPDX-License-Identifier: Apache-2.0
# What a task's text says without being run: its definitions, its hash without names, and its tokens.
import ast
import hashlib

from reasons import Rejected

REQUIRED = {"Model": ast.ClassDef, "get_inputs": ast.FunctionDef, "get_init_inputs": ast.FunctionDef}
MOST_BYTES = 1 << 20


def parsed(code):
    """The syntax tree of a text that defines the three names."""
    if not isinstance(code, str) or not code or len(code.encode(errors="replace")) > MOST_BYTES:
        raise Rejected("bad_row", "the text is missing or too long")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Rejected("no_python", str(error)) from None
    for name, kind in REQUIRED.items():
        if not any(isinstance(n, kind) and n.name == name for n in tree.body):
            raise Rejected("missing_name", name)
    return tree


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _own_names(tree):
    """Names that the text chooses itself: variables, arguments and attributes of self."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def tokens(tree, own=None):
    """The nodes in order, with the names of others; `own` names are numbered by appearance, or omitted if None."""
    chosen, numbers, found = _own_names(tree), {}, []

    def name(text):
        if text not in chosen:
            found.append(text)
        elif own is not None:
            found.append(numbers.setdefault(text, f"#{len(numbers)}"))

    def visit(node):
        """Adds the node's own tokens; its children follow."""
        if _is_text(node) or isinstance(node, (ast.expr_context, ast.arguments)) and not getattr(node, "args", None):
            return ()
        found.append(type(node).__name__)
        for field in ("id", "attr", "arg", "name", "module"):
            if isinstance(text := getattr(node, field, None), str):
                name(text)
        if isinstance(node, ast.Constant) and own is not None:
            found.append(repr(node.value))
        return ast.iter_child_nodes(node)

    left = [tree]  # an explicit stack: a text may be nested more deeply than Python's calls
    while left:
        left += reversed(list(visit(left.pop())))
    return found


def normalised_hash(tree):
    """Equal for texts that differ only in their own names, comments, layout and documentation."""
    return hashlib.sha256("\n".join(tokens(tree, own=True)).encode(errors="replace")).hexdigest()


def model_tokens(tree):
    """The tokens of Model, the part that similarity compares."""
    return tokens(next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"))
