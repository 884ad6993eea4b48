"""`unbraid study`."""


def study() -> None:
    """Plan, run and look at a study.

    A study is settings and seeds that are compared, in a JSON file that Python makes:
    `Study(...).save("study.json")`. Runs are kept by what they are, so the same command continues where it was stopped,
    and studies in one folder share their runs.

    Examples:
      unbraid study plan study.json
      unbraid study run study.json --budget 20m
      unbraid study report study.json
    """
