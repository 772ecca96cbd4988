"""One model call, from the request to the priced answer: plan, limits, budgets, schema, cache."""
