"""What a run is fed with: embedded default, initial adapters, foreign shapes, corpora built from
published files.
"""
