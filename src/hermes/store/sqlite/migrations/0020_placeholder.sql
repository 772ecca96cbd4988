-- Takes the number of another change, so that 0021 keeps its own.
SELECT 1;
