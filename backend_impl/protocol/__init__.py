"""The protocol's schema (``apir.toml``) and the generator that makes both codecs of it.

``python -m backend_impl.protocol`` writes ``backend_impl/wire/apir_gen.hpp``, ``lab/apir/protocol_gen.py`` and the golden vectors;
``--check`` compares instead and ends with 1 when they differ. Parse, check and emit are separate passes over frozen values.
Generated files are never edited.
"""
