"""Reference trainers, each a process of its own: nobody imports them, they import nothing else of hexapla."""
