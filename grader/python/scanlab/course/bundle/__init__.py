"""The students' copy of the kit."""
