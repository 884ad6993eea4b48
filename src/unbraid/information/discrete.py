"""Information in discrete latents: categories with known probabilities are their own bins."""

from collections.abc import Sequence

from jaxtyping import Float, Int64
from torch import Tensor

from unbraid.information.latent_information import LatentInformation, information_of_tables, joined
from unbraid.information.quantized import QuantizedStatistics, statistics_of_masses
from unbraid.information.value_table import ValueTable


def discrete_information(
    probabilities: Sequence[Float[Tensor, "image _category"]], values: ValueTable
) -> LatentInformation:
    """Returns discrete entropies and mutual information of each discrete latent, in nats: sums over images, exact for
    any number of categories.
    """
    found = [discrete_statistics(table, values) for table in probabilities]
    return joined([information_of_tables(s.marginal, s.joints, s.entropy_given_image) for s in found])


def discrete_statistics(probabilities: Float[Tensor, "image category"], values: ValueTable) -> QuantizedStatistics:
    """Returns the sums over images, for one discrete latent."""

    def masses(rows: Int64[Tensor, " row"]) -> Float[Tensor, "row latent category"]:
        return probabilities[rows].double()[:, None, :]

    return statistics_of_masses(masses, 1, probabilities.shape[1], values)
