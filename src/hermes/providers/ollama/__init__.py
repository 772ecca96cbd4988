"""Ollama's own wire: chat as lines of JSON, embeddings, and the list of models."""
