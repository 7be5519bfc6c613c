"""`python -m hexapla_core.trainer`: requests on stdin, events on stdout."""

import sys

from hexapla_core.trainer.main import main

sys.exit(main())
