"""Stand-in platforms and models, shipped for the tests, the benchmarks and plugin authors."""
