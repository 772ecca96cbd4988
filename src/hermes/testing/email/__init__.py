"""A stand-in for a mail server: IMAP and SMTP on loopback, strict, with the faults of real ones."""
