"""Formulas: arithmetic as Python does it, and nothing else."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanlab.labs.formulas import FormulaError, evaluate

AT_1024 = {"n": 1024, "sections": 1}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("0", 0),
        ("n * log2(n) - (n - 1) + n / 16", 9281),
        ("2 * log2(n) + 2", 22),
        ("ceil(n / 1000) + floor(n / 1000)", 3),
        ("max(n, 2000) - min(n, 24, sections)", 1999),
        ("-n // 3 % 5 + 2 ** 3", -1024 // 3 % 5 + 8),
        ("  n  ", 1024),
    ],
)
def test_a_formula_has_its_value(formula: str, value: float) -> None:
    assert evaluate(formula, AT_1024) == value


@pytest.mark.parametrize(
    "formula",
    [
        "", "n +", "m", "n m", "log10(n)", "log2(n", "__import__('os')", "n.real", "[n]", "n if n else 0", "n < 2",
        "lambda: n", "'n'", "True", "1j", "log2(x=n)", "log2()", "log2(0)", "log2(-n)", "1 / 0", "n % 0",
        "1e308 * 10", "9 ** 9 ** 9", "(-2) ** 0.5", "0 ** -1", "max(1)", "n := 3", "(" * 300 + "n" + ")" * 300,
        "1" * 5000, "-" * 490 + "n", "n\0",
    ],
)  # fmt: skip
def test_anything_else_is_refused(formula: str) -> None:
    if formula == "-" * 490 + "n":  # deep, but arithmetic
        assert evaluate(formula, AT_1024) == 1024
        return
    with pytest.raises(FormulaError):
        evaluate(formula, AT_1024)


def expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["n", "sections"]) | st.integers(0, 100).map(str)
    return st.recursive(
        leaves,
        lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        max_leaves=8,
    )


@given(expressions(), st.integers(0, 1 << 30))
def test_it_agrees_with_python(formula: str, n: int) -> None:
    names = {"n": n, "sections": n // 1024 + 1}
    try:
        expected = eval(formula, {}, dict(names))
    except ZeroDivisionError:
        with pytest.raises(FormulaError):
            evaluate(formula, names)
        return
    assert math.isclose(evaluate(formula, names), expected, rel_tol=0, abs_tol=0)


@given(st.text(max_size=60))
def test_no_text_raises_anything_else(text: str) -> None:
    with suppress(FormulaError):
        assert math.isfinite(evaluate(text, AT_1024))
