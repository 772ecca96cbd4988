"""Attachments: fetched, checked, kept in the media cache, and handed to turns."""
