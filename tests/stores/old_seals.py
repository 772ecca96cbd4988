"""Seals as databases of older versions have them: bound to their person, and to no place."""

import os

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.stores.engine import Tables

KEY_BYTES = 32
NONCE_BYTES = 12


class OldSeals:
    """Writes into a database what an older version would have written there."""

    def __init__(self, db: Tables, key_file: bytes) -> None:
        self._db = db
        self._wrap = MultiFernet([Fernet(key) for key in key_file.split()])

    def key_of(self, person_id: str) -> bytes:
        """Return the data key of a person, as it is wrapped."""
        sql = "SELECT wrapped FROM person_keys WHERE person_id = ?1"
        return self._wrap.decrypt(self._db.one(sql, (person_id,)))

    def make_old(self, person_id: str) -> None:
        """Give a person a key as older versions made them."""
        key = self._wrap.encrypt(self.key_of(person_id)[:KEY_BYTES])
        sql = "UPDATE person_keys SET wrapped = ?2 WHERE person_id = ?1"
        self._db.execute(sql, (person_id, key))

    def seal(self, person_id: str, content: bytes) -> bytes:
        """Return a value that is bound to its person alone."""
        nonce = os.urandom(NONCE_BYTES)
        cipher = AESGCM(self.key_of(person_id)[:KEY_BYTES])
        return nonce + cipher.encrypt(nonce, content, person_id.encode())
