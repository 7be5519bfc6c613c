"""Says that all went well, then exits with a status that says otherwise."""

import sys

from speak import serve

serve()
sys.exit(1)
