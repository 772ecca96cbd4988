"""Plugins that come with Hermes: each a folder that the setting `plugins` lists; the core names
none of them.
"""
