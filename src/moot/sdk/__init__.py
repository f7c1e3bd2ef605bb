"""The Python client: `from moot import Moot`. Runs in this process, without a server or a database."""
