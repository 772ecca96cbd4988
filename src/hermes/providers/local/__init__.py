"""The built-in demonstration model: a small GGUF model run by a child process of Hermes."""
