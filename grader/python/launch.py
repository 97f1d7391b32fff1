"""What grader/scanlab starts: set up what is missing, then run the command line."""

import gc
import sys

KIT_FAULT = 3
ALLOCATIONS_BETWEEN_COLLECTIONS = 200_000
"""What a command imports is fewer, and is no garbage: to look for some took 45 ms of each."""

if __name__ == "__main__":
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
    try:
        from scanlab.bootstrap.steps import launch

        code = launch(sys.argv[1:])
    except (ImportError, MemoryError, OSError) as error:  # of a machine that lacks something: never the work's fault
        print(f"scanlab: this machine: {error or type(error).__name__}", file=sys.stderr)
        code = KIT_FAULT
    gc.freeze()  # nor is there any that matters at the end
    sys.exit(code)
