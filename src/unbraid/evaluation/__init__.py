"""Every score of a set of codes at once: which metrics, under which settings, and what they gave."""

from unbraid.evaluation.evaluate import evaluate as evaluate
from unbraid.evaluation.score_table import score_table as score_table
from unbraid.evaluation.scorecard import Scorecard as Scorecard
from unbraid.evaluation.scoring import Scoring as Scoring
from unbraid.evaluation.top_latents import top_latents as top_latents
