"""`unbraid datasets`."""


def datasets() -> None:
    """List the data sets, show one, or fetch one.

    Without a command, they are listed.

    Examples:
      unbraid datasets
      unbraid datasets show dsprites
      unbraid datasets fetch mnist
    """
