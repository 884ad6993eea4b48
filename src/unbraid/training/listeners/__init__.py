"""Listeners that write down what they hear: `train(..., watch=CSVListener("losses.csv"))`."""

from unbraid.training.listeners.csv_listener import CSVListener as CSVListener
from unbraid.training.listeners.tensorboard_listener import TensorBoardListener as TensorBoardListener
