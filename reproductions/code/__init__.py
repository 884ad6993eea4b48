"""What items need besides tables: readers, classifiers, synthetic codes and examinations of models."""
