"""What CI says of a pushed commit, and what follows: waiting, red, once more, flaky."""
