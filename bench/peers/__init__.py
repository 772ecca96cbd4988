"""One module per peer that Hermes is measured beside; each names its group in `GROUP`."""
