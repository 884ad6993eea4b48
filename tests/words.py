"""Command lines as one types them."""


def words(line: str) -> tuple[str, ...]:
    return tuple(line.split())
