"""The tools that come with Hermes, each a class that implements the tool port."""
