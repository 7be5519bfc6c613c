"""Does nothing wrong; its runs must end well, or the others' failures mean nothing."""

from speak import serve

serve()
