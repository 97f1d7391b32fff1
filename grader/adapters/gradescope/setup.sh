#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image: everything the kit needs is installed and compiled.
set -euo pipefail
root=${SCANLAB_AUTOGRADER:-/autograder}
exec "${SCANLAB_HOME:-$root/source/scanlab}/grader/scanlab" prepare
