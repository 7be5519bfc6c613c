"""Reports of one results folder. Reads results and nothing else: no level, no process, no comparison."""
