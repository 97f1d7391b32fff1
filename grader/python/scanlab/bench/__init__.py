"""`grader/scanlab bench`: how fast scans are, and how fast the virtual GPU itself is (engine.py)."""
