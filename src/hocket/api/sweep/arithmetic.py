"""Formulas in the file of a sweep: of parameters, exact, and of the columns of results."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest

__all__ = ["evaluate", "number_of", "plain_number"]

_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MOST_CHARACTERS = 500
_MOST = int(sys.float_info.max)


def evaluate(formula: str, values: Mapping[str, Any], *, exact: bool = True) -> Any:
    """What the formula comes to: numbers, the names of `values`, + - * / // %, and parentheses; `exact`: in fractions,
    of numbers that `number_of` made.

    Raises FormatError for what is none, a name that nothing has, a text in arithmetic and a division by zero.
    """
    try:
        if len(formula) > _MOST_CHARACTERS:
            raise SyntaxError
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormatError(f"'{formula[:80]}': no formula of names, numbers, + - * / // % and parentheses") from None
    return _value(tree, values, formula, exact)


def _value(node: ast.AST, values: Mapping[str, Any], formula: str, exact: bool) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in values:
            raise FormatError(f"'{formula}': there is no '{node.id}'; {nearest(node.id, values)}")
        return values[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return _finite(formula, node.value) if exact else node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return 0 - _value(node.operand, values, formula, exact)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = (_value(each, values, formula, exact) for each in (node.left, node.right))
        if isinstance(left, str) or isinstance(right, str):
            raise FormatError(f"'{formula}': a text is no number")
        try:
            if exact and isinstance(node.op, ast.Div) and isinstance(left, int) and isinstance(right, int):
                return Fraction(left, right)
            return _OPERATIONS[type(node.op)](left, right)
        except TypeError:
            raise FormatError(f"'{formula}': a text is no number") from None
        except ZeroDivisionError:
            raise FormatError(f"'{formula}': divides by zero") from None
    raise FormatError(f"'{formula}': a formula has names, numbers, + - * / // % and parentheses alone")


def _finite(formula: str, value: float) -> object:
    if not isfinite(value):
        raise FormatError(f"'{formula}': a number is too large")
    return number_of(value)


def number_of(value: object) -> object:
    """A number exactly; what is none as it is."""
    return Fraction(str(value)) if isinstance(value, float) else value


def plain_number(formula: str, value: object) -> object:
    """What a formula comes to as JSON would have it: whole numbers without a point. Raises FormatError for what no
    floating-point number holds."""
    if isinstance(value, Fraction | int) and not -_MOST <= value <= _MOST:
        raise FormatError(f"'{formula}': a number is too large")
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value
