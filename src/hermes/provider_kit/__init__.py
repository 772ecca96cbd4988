"""What the model wires share: the streamed call, its parsers, and what a failure means."""
