"""virtgpu-lab: boots guests with virtio-gpu, remotes real ggml ops to the host, and judges what comes back.

The rooms and what each may import (a test holds this, see ``tests/test_imports.py``)::

    cli, pytest_plugin → scenario → ops, guest, qemu, image, host, bench → apir, ggml, metrics
        → errors, deadline, process, paths, elf, temporary, interruption, threads

``bundle`` holds the schema of a run's output folder; it stands beside ``metrics`` and is all that ``reports`` may import.
"""

__version__ = "0.1.0"
