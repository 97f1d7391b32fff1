"""What a submission was compiled to: its line table, and what stands in its code that is not its own work."""
