"""A trainer in Python over core's C++ objects: one file a stage, written from the specification and the
protocol alone.
"""
