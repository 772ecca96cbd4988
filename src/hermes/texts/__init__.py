"""What Hermes itself says to people, in their language: catalogues, plurals, and which language."""
