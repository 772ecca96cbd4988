-- The graphs of one session in the order in which they were made; a graph's name ends with the epoch.
CREATE INDEX graphs_session ON graphs (rtrim(name, '0123456789'));
