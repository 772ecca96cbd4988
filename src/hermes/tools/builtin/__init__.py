"""The tools that come with Hermes, each a class that fulfils the tool port."""
