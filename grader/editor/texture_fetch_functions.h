// Empty, for clangd. Every clang includes a header of this name before a CUDA file's first line, and CUDA 12 and 13
// have none: a fatal error, after which clang ignores all headers. It is looked for here after all other folders, so
// that a toolkit's own comes first (grader/python/scanlab/bootstrap/editor.py).
