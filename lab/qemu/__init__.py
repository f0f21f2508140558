"""Running a guest: spec → command line (pure), QMP, and ``booted_guest``, which owns everything a running guest is made of."""
