"""`scanlab trace`: run a kernel on inputs that can be distinguished, and draw who read and wrote what, step by step."""
