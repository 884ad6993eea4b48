"""`unbraid papers`."""


def papers() -> None:
    """List, run and look at the tables and figures of papers.

    Every table and figure of five papers is an item: what it claims, how it is trained and scored, and the test that
    decides. Without a command, they are listed.

    Examples:
      unbraid papers
      unbraid papers show chen2018/table1
      unbraid papers run chen2018/table1
    """
