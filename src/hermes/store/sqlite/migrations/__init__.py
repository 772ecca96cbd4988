"""Schema changes in order; together they must build what `schema.sql` says."""
