"""Cannot even begin."""

raise ImportError("a library that is not there")
