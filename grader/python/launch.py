"""What grader/scanlab starts: set up what is missing, then run the command line."""

import gc
import sys

from scanlab.bootstrap.steps import launch

ALLOCATIONS_BETWEEN_COLLECTIONS = 200_000
"""What a command imports is fewer, and is no garbage: to look for some took 45 ms of each."""

if __name__ == "__main__":
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
    code = launch(sys.argv[1:])
    gc.freeze()  # nor is there any that matters at the end
    sys.exit(code)
