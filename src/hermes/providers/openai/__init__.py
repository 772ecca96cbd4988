"""The OpenAI chat-completions wire, spoken by OpenAI, most clouds and most local servers."""
