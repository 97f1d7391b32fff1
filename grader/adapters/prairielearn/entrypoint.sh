#!/bin/sh
# PrairieLearn runs this in the container for each submission; without a score there is no results.json.
root=${SCANLAB_GRADE:-/grade}
exec "${SCANLAB_HOME:-/opt/scanlab}/grader/scanlab" inside prairielearn --settings "$root/tests/adapter.json"
