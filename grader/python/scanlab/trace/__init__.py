"""`scanlab trace`: run a kernel on inputs that can be told apart, and draw who read and wrote what, step by step."""
