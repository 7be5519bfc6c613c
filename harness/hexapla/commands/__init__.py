"""One module a command: what its words mean, what it prints, its exit status. No level's logic."""
