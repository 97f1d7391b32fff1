"""What grader/scanlab starts: set up what is missing, then run the command line."""

import sys

from scanlab.bootstrap.steps import launch

if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
