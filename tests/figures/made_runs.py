"""A table of runs that were never trained: three families, their scores known."""

from unbraid._internal.table import Table

METRICS = ("mig", "jemmig", "rate", "distortion")


def made_runs():
    """Returns two settings of beta-VAE, one of a VAE and one of a family that no list knows, three seeds each."""
    settings = {
        "VAE": ("VAE", None),
        "beta-VAE 2": ("beta-VAE", 2.0),
        "beta-VAE 8": ("beta-VAE", 8.0),
        "new": ("new", None),
    }
    rows = []
    for number, (label, (family, strength)) in enumerate(settings.items()):
        for seed in range(3):
            mig = 0.1 * number + 0.01 * seed * (number + 1)
            rows.append((label, family, strength, seed, mig, 1 - mig, 10.0 - number + 0.1 * seed, 5.0 * number + seed))
    return Table(("setting", "family", "strength", "seed", *METRICS), tuple(rows))


def values_of(table, label, column):
    """Returns a column of one setting."""
    return [row[column] for row in table if row["setting"] == label]
