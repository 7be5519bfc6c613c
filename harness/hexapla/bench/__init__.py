"""Speed: how long an update takes per implementation, what a call costs per language, where a step goes."""
