"""Claims: sentences about quantities of a study, which its scores support, contradict, or leave undecided."""
