"""Ways in which Python code under test makes its runner say that all is well, as files of a story.

Each is green by exit code, count, report and name; only gate canary finds it (tests/gates/test_runner_tricks.py).
"""

from damascus.lab.lies.runner_trick import Trick
from damascus.lab.lies.runner_tricks_ends import ENDS
from damascus.lab.lies.runner_tricks_patches import PATCHES
from damascus.lab.lies.runner_tricks_unittest import UNITTEST

__all__ = ["TRICKS", "Trick"]

TRICKS = (*PATCHES, *ENDS, *UNITTEST)
