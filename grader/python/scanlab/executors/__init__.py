"""Where the units of a class are graded: on this machine, or as jobs of a cluster; see README.md."""
