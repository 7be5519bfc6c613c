"""Entry point of `python -m hexapla.reference.torch`; it only hands over to `main`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
