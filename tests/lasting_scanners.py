"""The scanners of workers that run in the tests' own process: started once, not once for each worker.

To start both takes 0.2 s of processor time, more than the rest of most stories. A scanner keeps nothing between two
questions; what ends, replaces or starves one has tests with scanners of their own.
"""

from damascus.scanning.scanner import Scanner


class LastingScanner(Scanner):
    """Its worker's end is not its own."""

    def close(self) -> None:
        pass


class OneOfEach:
    """Stands where `Scanner` is called."""

    def __init__(self) -> None:
        self._thorough, self._quick = LastingScanner(), LastingScanner.quick()

    def __call__(self) -> Scanner:
        return self._thorough

    def quick(self) -> Scanner:
        return self._quick
