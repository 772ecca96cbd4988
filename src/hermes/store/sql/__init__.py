"""The store in SQL that every engine shares: one class per topic, over the protocol of `tx`."""
