"""Ctrl-C while the command line imports modules: an exception there could be lost, so the process ends."""

import subprocess
import sys

LOSES_WHAT_IS_RAISED = """
import signal, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                pass
sys.meta_path.insert(0, Look())
from unbraid.cli import main
main(["runs"])
"""


def test_it_ends_the_process_with_a_sentence():
    done = subprocess.run([sys.executable, "-c", LOSES_WHAT_IS_RAISED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: Interrupted.\n")
