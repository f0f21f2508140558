"""What the host offers and what is built on it: capabilities, host roots, native payloads, and the cache they live in.

Nothing here boots a guest for a scenario or knows one. The only thing that is ever changed on the host's own system is the set of
installed Debian packages (``apt``), and only as root or with passwordless sudo.
"""
