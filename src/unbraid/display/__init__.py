"""Progress on a terminal and in a notebook. What needs rich or IPython is loaded when it is used."""

from unbraid.display.shown import shown as shown
