"""The command line: one file per command; typer and rich are imported here and nowhere else."""
