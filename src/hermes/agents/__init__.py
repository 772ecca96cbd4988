"""Agents: who answers, with which words, tools and model."""
