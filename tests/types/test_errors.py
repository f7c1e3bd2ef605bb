import re

import pytest

from moot.types import errors
from moot.types.errors import MootError, NotFound, ProviderError, UsageError, prefix_not_found
from moot.types.faults import make_fault

BRANCH_PATTERN = re.compile(r"^([│├└─\s]*)([A-Z]\w+)(?:\s|$)")


def documented_parents() -> dict[str, str]:
    """Read the parent of each error from the tree in the module's docstring."""
    tree = (errors.__doc__ or "").split("\n\n", 1)[1]
    path: list[str] = []
    parents = {}
    for line in tree.splitlines():
        if found := BRANCH_PATTERN.match(line):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            parents[found[2]] = path[depth - 1] if depth else "Exception"
    return parents


def actual_parents() -> dict[str, str]:
    return {
        thing.__name__: thing.__bases__[0].__name__
        for thing in vars(errors).values()
        if isinstance(thing, type) and issubclass(thing, Exception)
    }


def test_error_tree_in_docstring_matches_classes() -> None:
    assert documented_parents() == actual_parents()


def test_every_error_is_a_moot_error() -> None:
    assert all(issubclass(getattr(errors, name), MootError) for name in actual_parents())


def test_provider_error_has_fault_and_its_message() -> None:
    fault = make_fault("auth", "Key rejected for openai.")
    error = ProviderError(fault)
    assert error.fault is fault
    assert str(error) == "Key rejected for openai."


def test_provider_error_is_not_a_usage_error() -> None:
    assert not issubclass(ProviderError, UsageError)


def test_prefix_not_found_adds_field_name() -> None:
    with pytest.raises(NotFound, match=r"^persona: There is no persona 'x'\.$"), prefix_not_found("persona"):
        raise NotFound("There is no persona 'x'.")
