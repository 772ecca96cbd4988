"""Mail: IMAP in, SMTP out."""
