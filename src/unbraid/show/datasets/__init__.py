"""Pages that show data sets."""

from unbraid.show.datasets.page import write_dataset_page as write_dataset_page
