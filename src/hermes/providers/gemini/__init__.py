"""The Gemini generateContent wire, as Google's Generative Language API speaks it."""
