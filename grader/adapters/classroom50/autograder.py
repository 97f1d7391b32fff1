"""What Classroom 50's runner starts in a student's checkout: the kit writes ./result.json.

A non-zero exit code says that the grading has failed, not the student.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("SCANLAB_HOME", "/opt/scanlab"))
TIMEOUT = 3000
"""Seconds; a job of GitHub Actions may take longer, but no student waits that long."""

if __name__ == "__main__":
    command = [str(HOME / "grader/scanlab"), "inside", "classroom50", "--settings", str(HERE / "adapter.json")]
    try:
        sys.exit(subprocess.run(command, timeout=TIMEOUT, check=False).returncode)
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"scanlab: no score: {error}")
