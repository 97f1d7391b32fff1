"""Pages made from a class's results: one for its teacher, and one to hand back to each student."""
