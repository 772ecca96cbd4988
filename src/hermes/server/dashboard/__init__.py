"""The operator's dashboard: pages in the browser over the JSON of the operator orders."""
