#!/usr/bin/env python3
"""survives.py VGPU_RUN GARBAGE_CLIENT: vgpu-run outlives a program that sends garbage, and says what happened."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=60)
closed = "connection closed: the program broke the protocol"
if done.returncode != 5 or closed not in done.stderr:
    sys.exit(f"exit code {done.returncode}, expected 5, and on stderr:\n{done.stderr}")
