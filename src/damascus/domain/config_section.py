"""What every table of damascus.toml is."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A table of damascus.toml: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
