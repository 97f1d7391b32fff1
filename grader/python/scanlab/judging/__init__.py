"""How one submission is judged: compiled, planned, run in the sandbox by the judge, and reported."""
