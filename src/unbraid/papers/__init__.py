"""Papers: every table and figure of five papers as an item that is run, judged and shown.

A paper is one file with a `PAPER`, or a folder of such; it is listed in `registry.py`.
"""

from unbraid.papers.calculation import Calculation as Calculation
from unbraid.papers.examination import ExaminedWork as ExaminedWork
from unbraid.papers.item import Choice as Choice
from unbraid.papers.item import Item as Item
from unbraid.papers.item import Paper as Paper
from unbraid.papers.item import Printed as Printed
from unbraid.papers.work import StudyWork as StudyWork
from unbraid.papers.work import TunedWork as TunedWork
