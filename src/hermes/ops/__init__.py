"""Operations: one instance per home, and logs; it reads, and acts only through control."""
