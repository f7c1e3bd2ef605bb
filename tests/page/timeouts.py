"""Timeouts of page tests: long, so that a busy machine does not fail them."""

PAGE_TIMEOUT_SECONDS = 60
PAGE_TIMEOUT_MILLISECONDS = PAGE_TIMEOUT_SECONDS * 1000
# An init script of a page: a toast stays until the test has checked it.
KEEP_TOASTS_JS = (
    "{ const often = setInterval; window.setInterval = (act, wait) => (wait === 7000 ? 0 : often(act, wait)); }"
)
