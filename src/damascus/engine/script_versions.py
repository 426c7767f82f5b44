"""The version of each phase's script (engine/phases/*.py).

A run records the version that began it. A worker with another one can't go on in its journal: steps may have other
names, keys or results there. It starts a new run instead and finds what was done outside by key: the branch, the pull
request, main. Raise a phase's number in the change that makes its older journals unreadable; a new step at the end of a
script, or one whose result nobody had before, needs none. 1 stands for the releases that recorded none.
"""

from damascus.domain.verdict import Phase

SCRIPT_VERSIONS: dict[Phase, int] = {Phase.SPEC: 1, Phase.BUILD: 2, Phase.REVIEW: 1, Phase.MERGE: 2}
UNRECORDED = 1
KEY = "script"
"""Under which name it stands in the input of a run's first step."""
