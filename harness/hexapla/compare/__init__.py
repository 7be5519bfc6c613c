"""Two runs side by side: reading, statistics, verdict, attribution. Starts nothing and keeps no bounds."""
