"""Where a number begins to speak for a metric or against it. The limits are ours; the page prints them."""

UNNOTICED = 0.9
"""A metric does not notice what leaves it this share of its range, or more. Experiments say what it is to notice."""
IGNORED, MOVED = 0.1, 0.2
"""A metric ignores what moves it by at most the first share of its range, and does not what moves it by the second."""
QUIET, LOUD = 0.02, 0.05
"""Noise, as a share of the range: the standard deviation over codes that are drawn again."""
FEWEST_REDRAWS = 4
"""A standard deviation of fewer draws says nothing of how noisy a metric is."""
STEADY, SHIFTING = 0.1, 0.3
"""How far other settings move a metric, as a share of its range."""
TELLS_STEPS, MIXES_STEPS = 0.75, 0.6
"""How often a later snapshot has to score above an earlier one, of any seeds."""
FEWEST_PAIRS = 12
"""Fewer pairs of snapshots say nothing of that."""
SATURATED = 0.98
"""A metric that keeps so much of its range on codes of middling quality is at its limit: its noise cannot show."""
FLAT = 0.02
"""A metric that their turn and width move by so little of its range is on a plateau there, and its noise may hide."""
CLEAR = 4.0
"""Perfect codes must lie so many standard deviations above noise, or no share of the range means anything."""
