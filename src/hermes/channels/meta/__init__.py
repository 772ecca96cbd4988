"""WhatsApp, Instagram and Messenger: one Graph API and one signature, a manifest for each platform."""
