"""Sessions as pure values: which key an event belongs to, and what its commands mean."""
