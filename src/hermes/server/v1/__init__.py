"""The model layer as a server: the endpoints for OpenAI's and Anthropic's clients."""
