"""A guest image that is built while something else is: by a process of its own, ``python -m lab.image.ahead IMAGE``.

Making a Debian tree keeps one processor busy for a minute and more, and needs nothing of the host root until it is there. A
process, and no thread, for its end is somebody's duty at any moment, as that of every other child (``lab.process``).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.debian import CLEANUP_S
from lab.host.progress import LineProgress, Progress
from lab.image.build import cached_guest_image, guest_image
from lab.interruption import interruptible
from lab.process import spawn
from lab.temporary import nameless_file

BUILD_S = 1800.0
TERMINATE_S = CLEANUP_S + 60.0
"""Its own child has the first of that; then a tree of thousands of files is to be removed, on a machine that may be busy."""
FAILED = 2
INTERRUPTED = 130


@contextlib.contextmanager
def begun(name: str, progress: Progress, deadline: Deadline, *, again: bool = False) -> Iterator[Callable[[], None]]:
    """Begin to build the image unless the cache has it; what is given waits for its end, which an end of the context brings about.

    A failure is only noted: whoever then asks for the image, builds it, and sees why it cannot be.

    Args:
        name: of the recipe.
        progress: told of the begin, and how long the end was waited for.
        deadline: for that.
        again: it will be built anew, so there is nothing to begin.
    """
    if again or cached_guest_image(name) is not None:
        yield lambda: None
        return
    argv = (sys.executable, "-m", __name__, name)
    with nameless_file() as log, spawn(argv, log=log, terminate_s=TERMINATE_S) as child:
        progress.note(f"begun beside: the guest image {name}")

        def ended() -> None:
            with progress.step(f"waiting for the guest image {name}"):
                if child.wait(deadline) != 0:
                    progress.note(f"it failed, and is tried again: {child.log_tail().strip()[-400:]}")

        yield ended


def main(name: str) -> int:
    """Build the image; 0, or why there is none on standard output."""
    try:
        with interruptible():
            guest_image(name, LineProgress(), Deadline.after(BUILD_S))
    except LabError as error:
        print(error)  # noqa: T201 - a program's answer
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
