#!/bin/sh
# Prints the score as the last line. Autolab mixes stderr into stdout, so what stderr says waits in a file.
"${SCANLAB_HOME:-/opt/scanlab}/grader/scanlab" inside autolab --settings adapter.json >scanlab.out 2>scanlab.log
status=$?
if [ "$status" -ne 0 ]; then
    cat scanlab.log
    echo "scanlab: no score: the autograder itself has failed (exit code $status); show this to your instructor"
    exit "$status"
fi
cat scanlab.out
