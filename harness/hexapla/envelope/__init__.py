"""Bounds as data, and the two floors that say what a bound means. Compares runs by `compare`, judges none."""
