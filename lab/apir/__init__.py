"""The wire as Python sees it: reader and writer, the generated codec, traces, and the host library driven in-process."""
