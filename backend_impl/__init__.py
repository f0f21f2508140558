"""The native parts: guest library, host library, APIR component; and the protocol's schema with its generator."""
