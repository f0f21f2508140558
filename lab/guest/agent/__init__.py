"""Programs that run inside the guest. They and all they import need Python's standard library only."""
