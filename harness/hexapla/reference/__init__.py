"""Reference trainers, each a process of its own; nobody imports them, and they import nothing else from hexapla."""
