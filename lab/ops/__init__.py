"""Ops and their judging.

``upstream`` drives the distribution's own ``test-backend-ops`` in a guest and turns what it prints into case results;
``upstream_cases``, ``upstream_rows``, ``upstream_stream`` and ``upstream_judge`` do so for all of its cases in any mode, in many
processes.

The rest is our own engine. ``catalog`` (``case``, ``families``) says what is tested; ``build`` and ``built``, ``data`` (``bits``,
``blocks``), ``batch`` and ``engine`` compute it on a device, the same on host and guest and without numpy; ``judge`` (``golden``,
``compare``) says what it must be; ``native`` and ``remote`` run both sides; ``session`` puts them together and ``verdict`` decides.
``loopback`` needs no guest.
"""
