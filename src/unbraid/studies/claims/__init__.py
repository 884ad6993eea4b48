"""Claims: statistical hypotheses about the scores of a study, and their verdicts."""
