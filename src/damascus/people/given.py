"""The shapes of what a program gives: typed for the API and for MCP alike, and nothing that no row can hold."""

from typing import Annotated

from pydantic import Field

from damascus.people.spec_files import SPEC_LIMIT

NO_NUL = r"^[^\x00]*$"
MOST_SPECS = 100
StoryName = Annotated[str, Field(max_length=200, pattern=NO_NUL, description="The story's id, like S-21.")]
Words = Annotated[str, Field(max_length=10_000, pattern=NO_NUL)]
SpecTexts = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=SPEC_LIMIT, pattern=NO_NUL)]],
    Field(min_length=1, max_length=MOST_SPECS, description="The whole text of each spec (docs/spec.md)."),
]
