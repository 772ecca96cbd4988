"""One module per group of measurements; each names its group in `GROUP`."""
