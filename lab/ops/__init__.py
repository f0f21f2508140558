"""Ops and their judging.

``upstream`` drives the distribution's own ``test-backend-ops`` in a guest and turns what it prints into case results.
"""
