"""Values of damascus.toml that have a rule of their own: told when the settings are read, not when they are used."""

from typing import Annotated

from pydantic import AfterValidator

from damascus.domain.names import special
from damascus.domain.roles import Role
from damascus.domain.visible import visible


def _of_roles(table: dict[str, str]) -> dict[str, str]:
    unknown = next((name for name in table if name not in set(Role)), None)
    if unknown is not None:
        raise ValueError(f"there is no role {unknown!r}; there are {', '.join(Role)}")
    return table


def _on_main(folder: str) -> str:
    parts = folder.removesuffix("/").split("/")
    if special(folder) or not all(visible(part) and part not in (".", "..") for part in parts):
        raise ValueError(f"{folder!r} is no folder of the repository, as swarm/runs is")
    return folder


ByRole = Annotated[dict[str, str], AfterValidator(_of_roles)]
FolderOnMain = Annotated[str, AfterValidator(_on_main)]
