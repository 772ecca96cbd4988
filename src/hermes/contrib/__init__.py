"""Plugins that come along: each a folder that `plugins:` names, and that nothing in the core names."""
