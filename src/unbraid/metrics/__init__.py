"""Metrics: codes in, scores out."""

from unbraid.metrics.attribute_vector import AttributeVector as AttributeVector
from unbraid.metrics.correlations import Correlations as Correlations
from unbraid.metrics.dci import DCI as DCI
from unbraid.metrics.elbo_decomposition import ELBODecomposition as ELBODecomposition
from unbraid.metrics.explicitness import Explicitness as Explicitness
from unbraid.metrics.factor_vae_score import FactorVAEScore as FactorVAEScore
from unbraid.metrics.gaussian_total_correlation import GaussianTotalCorrelation as GaussianTotalCorrelation
from unbraid.metrics.indin import INDIN as INDIN
from unbraid.metrics.informative_latents import InformativeLatents as InformativeLatents
from unbraid.metrics.informativeness import Informativeness as Informativeness
from unbraid.metrics.irs import IRS as IRS
from unbraid.metrics.jemmig import JEMMIG as JEMMIG
from unbraid.metrics.lemma2_gap import Lemma2Gap as Lemma2Gap
from unbraid.metrics.metric import Metric as Metric
from unbraid.metrics.metric import Score as Score
from unbraid.metrics.metric import Value as Value
from unbraid.metrics.mig import MIG as MIG
from unbraid.metrics.misjed import MISJED as MISJED
from unbraid.metrics.modularity import Modularity as Modularity
from unbraid.metrics.pairwise_information import PairwiseInformation as PairwiseInformation
from unbraid.metrics.rmig import RMIG as RMIG
from unbraid.metrics.sap import SAP as SAP
from unbraid.metrics.separability import Separability as Separability
from unbraid.metrics.sepin import SEPIN as SEPIN
from unbraid.metrics.top_attributes import TopAttributes as TopAttributes
from unbraid.metrics.zdiff import ZDiff as ZDiff
