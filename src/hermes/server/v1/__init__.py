"""The model layer as a server: the endpoints that OpenAI's and Anthropic's clients speak to."""
