"""Published data sets, read from their official files. Each module defines one data set."""
