"""What every channel needs, written once: handing messages to the inbox, reading attachments, state."""
