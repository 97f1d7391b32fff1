"""The labs: folders and rubrics, skeletons and solutions, and the programs with a known verdict."""
