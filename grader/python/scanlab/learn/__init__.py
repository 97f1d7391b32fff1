"""`learn`: one lab after the other, checked whenever its file is saved; what has been passed is kept."""
