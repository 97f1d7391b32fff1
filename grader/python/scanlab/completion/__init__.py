"""Completion in bash, zsh and fish: scripts that ask the command line, as it is typed, what may follow."""
