"""`moot` without limits on how often one may call: one account asks for more than any person would.

Everything else is the command as it is. The limits have no setting, so they are raised here.
"""

from moot.cli.app import main
from moot.server.limits import Limits

PLENTY = 10_000_000

if __name__ == "__main__":
    usual = Limits.__init__.__kwdefaults__ or {}
    usual.update(standard=PLENTY, model=PLENTY)
    main()
