"""One model call, from the wish to the priced answer: plan, limits, budgets, schema, cache."""
