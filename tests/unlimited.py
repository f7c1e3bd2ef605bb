"""`moot` without limits on how often one may call, for tests that call more often than anybody should."""

from moot.cli.app import main
from moot.server.limits import Limits

if __name__ == "__main__":
    usual = Limits.__init__.__kwdefaults__ or {}
    usual.update(standard=1_000_000, model=1_000_000, login=1_000_000)
    main()
