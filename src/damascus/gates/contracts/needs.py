"""The packages that each check needs: the extra `contracts`. Without them nothing is judged, and nothing has passed."""

from importlib.util import find_spec

from damascus.domain.errors import DamascusError
from damascus.gates.contracts.touched import Touched
from damascus.system.installing import install

MODULES = {"openapi": "openapi_spec_validator", "schemas": "jsonschema", "serve": "schemathesis"}
"""By the key of `[contracts]` that makes it needed."""


def missing(keys: set[str]) -> list[str]:
    """The modules that are not installed."""
    wanted = {module for key, module in MODULES.items() if key in keys}
    return sorted(module for module in wanted if find_spec(module) is None)


def need_packages(touched: Touched, *, served: bool) -> None:
    lacking = missing(touched.keys | ({"serve"} if served else set()))
    if lacking:
        raise DamascusError(
            f"the contracts that this story touches ({', '.join(touched.paths[:3])}) can't be checked: "
            f"{', '.join(lacking)} is not installed. Install it: {install('contracts')}"
        )
