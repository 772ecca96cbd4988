"""The built-in embedder: all-MiniLM-L6-v2 run with numpy, on its own thread."""
