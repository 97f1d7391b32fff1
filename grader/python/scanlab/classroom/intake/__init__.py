"""Taking in a class: from a folder or an archive of submissions to who handed in what."""
