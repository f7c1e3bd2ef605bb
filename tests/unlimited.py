"""`moot` without limits on how often one may call, for tests that call more often than anybody should."""

from moot.cli.app import main
from moot.server.limits import Limits

if __name__ == "__main__":
    Limits.__init__.__kwdefaults__ |= dict.fromkeys(("standard", "model", "login"), 1_000_000)
    main()
