"""Agents: who answers, with which prompt, tools and model."""
