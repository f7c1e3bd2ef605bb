"""How a journey waits, so that a busy machine is no failure: long, and for nothing that goes away by itself."""

PAGE_TIMEOUT_SECONDS = 60
PAGE_TIMEOUT_MILLISECONDS = PAGE_TIMEOUT_SECONDS * 1000
# An init script of a page: what is said in passing stays until it was looked at.
KEEP_TOASTS_JS = (
    "{ const often = setInterval; window.setInterval = (act, wait) => (wait === 7000 ? 0 : often(act, wait)); }"
)
