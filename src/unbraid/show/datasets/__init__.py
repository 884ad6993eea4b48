"""HTML pages about datasets."""

from unbraid.show.datasets.page import write_dataset_page as write_dataset_page
