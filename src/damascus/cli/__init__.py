"""The command line. Importing makes many objects that live on; to look through them again and again costs a tenth of a
start and of an end, so garbage is collected seldom from here on, and not at all when the process ends."""

import atexit
import gc

gc.set_threshold(50_000)
atexit.register(gc.freeze)
