"""What a course says of its labs: course.toml, and the bundle that its students get."""
