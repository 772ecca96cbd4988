"""The small embedder of recall: WordLlama's table of word vectors, averaged with numpy."""
