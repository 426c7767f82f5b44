"""Reading what agents wrote."""

from damascus.stacks import tests_in

__all__ = ["tests_in"]
