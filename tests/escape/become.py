"""Put a cage on from inside the account that it is for, then become the command. Its only argument is a JSON object."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from damascus.system import landlock, seccomp
from damascus.system.bubblewrap import Form
from damascus.system.sandbox import Cage, Level


def main() -> None:
    told = json.loads(sys.argv[1])
    write, read = ([Path(each) for each in told[name]] for name in ("write", "read"))
    form = Form(*told["form"]) if told["form"] else None
    gateway = Path(told["gateway"]) if told["gateway"] else None
    cage = Cage(Level(told["level"]), tuple(write), tuple(read), gateway=gateway, port=told["port"], form=form)
    request = cage.enclose(told["argv"], Path(told["cwd"]), told["env"])
    if "landlock" in request:
        landlock.restrict(request["landlock"])  # type: ignore[arg-type]
    argv = [str(word) for word in request["argv"]]  # type: ignore[attr-defined]
    if request.get("inside"):
        argv, given = seccomp.bubblewrap_with(argv)
        for fd in given:
            os.set_inheritable(fd, True)
    os.execve(argv[0], argv, {name: str(value) for name, value in request["env"].items()})  # type: ignore[attr-defined]


main()
