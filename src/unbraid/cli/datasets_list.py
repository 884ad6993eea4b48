"""`unbraid datasets list`."""

from unbraid.cli.console import output, say


def datasets_list() -> None:
    """List the data sets.

    How many images of which size, what varies in them, where they are, and under which license. Each can be set up
    differently; this is what they are by default.

    Words for where they are:
      drawn here     made by unbraid at first use, without a download
      cached         converted, and ready
      files found    in a folder that you named; converted at first use
      to be fetched  `unbraid datasets fetch NAME` downloads the files
      ask the owner  no direct download: `fetch` prints which file to put where
      your files     images of your own, named by a flag such as --dataset.path

    Example:
      unbraid datasets
    """
    from unbraid.cli.dataset_table import dataset_table

    output().print(dataset_table())
    say("Look at one with: unbraid datasets show NAME")
    say("Train on one with: unbraid train --dataset NAME")
