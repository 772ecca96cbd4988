"""Operations: one instance per home, logs, metrics and alerts; it reads, and acts only through
control.
"""
