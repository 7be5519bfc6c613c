"""Leaves a child behind that holds its pipes and its name in another session."""

import subprocess

from speak import serve

subprocess.Popen(["sleep", "60"], start_new_session=True)
serve()
