"""OpenAI's Responses wire: items in, typed events out, reasoning that can be sent back."""
