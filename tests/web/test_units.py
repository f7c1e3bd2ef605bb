"""The page's own checks, so that one command runs them too: its unit tests, its types, its format."""

import pytest

from tests.support.node import install_node_packages, run_node

# One process for all files: else each of them starts its own, which takes longer than its tests.
UNIT_TESTS = ("--test", "--test-isolation=none", "tests/**/*.test.ts")
CHECKS = {
    "unit tests on all examples": UNIT_TESTS,
    "types": ("node_modules/svelte-check/bin/svelte-check", "--fail-on-warnings"),
    "types of its tests": ("node_modules/typescript/bin/tsc", "-p", "tests"),
    "format": ("node_modules/prettier/bin/prettier.cjs", "--check", "."),
}


@pytest.fixture(autouse=True, scope="module")
def node_packages() -> None:
    install_node_packages()


def test_page_unit_tests_pass() -> None:
    run_node(*UNIT_TESTS, FEW_RUNS="1")


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_page_check_passes(check: str) -> None:
    run_node(*CHECKS[check])
