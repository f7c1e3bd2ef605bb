"""Public fakes: a provider server that plays scripts with faults, and a fake Discord."""
