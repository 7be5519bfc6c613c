"""Hexapla: one training specification on independent implementations, compared."""
