"""Two capabilities that only QEMU itself can tell: whether KVM really runs a kernel, and which way it gets OpenGL.

``/dev/kvm`` can exist, open, and make a virtual machine, and still never get a stock kernel past its first instructions.
So KVM is believed when a guest kernel with our initramfs has reached its first program, within a short deadline. The answer
holds for this boot of the host, this user and this QEMU, and is kept in the cache under just these: for good that an image's kernel
came up, for a while that it did not, which may have been the hour's: a busy machine, no memory, KVM used by somebody else. Where
none came up, KVM is not tried with other images meanwhile.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import GuestError
from lab.host.capability import Capability
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.host.store import content_key, let_go, stored
from lab.image import GuestImage
from lab.process import finish, spawn
from lab.qemu.command import QEMU, Accel, Display, display_environment
from lab.qemu.qmp import qmp_session
from lab.temporary import temporary_folder

KVM_DEVICE = Path("/dev/kvm")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
ALIVE = "LAB-ALIVE"
TRIAL = "trial.json"
TRIAL_S = 15.0
# of KVM that failed: so long, and so many times as long as the trial took, that a host where it hangs hardly waits for it
TRY_AGAIN_S = 900.0
TRY_AGAIN_TIMES = 240.0
# QEMU that has no OpenGL says so and ends; this is for one that reads its libraries from a cold disk, or hangs
GL_S = 120.0
TRIAL_ARGUMENTS = "console=ttyS0 loglevel=4 rdinit=/init panic=-1 lab_alive=1"


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether a kernel came up, what was seen, and when (the clock's seconds) and for how long it was tried."""

    alive: bool
    seen: str
    release: str = ""
    at_s: float = 0.0
    took_s: float = 0.0

    @property
    def holds_s(self) -> float:
        """For how long it holds, in seconds."""
        return math.inf if self.alive else max(TRY_AGAIN_S, TRY_AGAIN_TIMES * self.took_s)


@dataclass(frozen=True, slots=True)
class GlPath:
    """The display that gave QEMU an OpenGL context, on which render node, or why none did."""

    display: Display
    render_node: Path | None
    capability: Capability


# what was found, by the host root's key and the render nodes
GL_PATHS: dict[tuple[str, tuple[Path, ...]], GlPath] = {}


def kvm(root: HostRoot, image: GuestImage) -> Capability:
    """Whether KVM runs this image's kernel, proved by doing so (once per boot of the host)."""
    if not KVM_DEVICE.exists():
        return Capability(
            "kvm", False, f"there is no {KVM_DEVICE}", "load kvm_intel or kvm_amd; in a virtual machine, allow nesting"
        )
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK):
        return Capability("kvm", False, f"{KVM_DEVICE} is there, but not ours to open", "add the user to the group `kvm`")

    trial = stored_trial(root, image)
    if trial.alive:
        return Capability("kvm", True, f"booted {image.release} under KVM to its first program")
    again = f"it is tried again after {trial.holds_s / 60:.0f} min"
    hint = f"guests run under TCG, only slower; on a real machine, look at the host's kernel log; {again}"
    return Capability(
        "kvm", False, f"{KVM_DEVICE} opens, but {trial.release} under KVM did not get to its first program: {trial.seen}", hint
    )


def stored_trial(root: HostRoot, image: GuestImage) -> Trial:
    """The trial of KVM in the cache that answers for the image, made now where none is there that still holds."""
    folder = paths.cache() / "kvm-trials"
    key = content_key(BOOT_ID.read_text(encoding="ascii"), root.key, os.geteuid(), TRIAL_ARGUMENTS)

    def build(building: Path) -> None:
        kept = kept_trials(folder / key)
        # another process may have made it while this one waited for its turn
        if answering(kept, image) is None:
            kept[image.key] = trial_boot(root, image, Accel.KVM, Deadline.after(TRIAL_S))
        (building / TRIAL).write_text(json.dumps({name: asdict(one) for name, one in kept.items()}), encoding="utf-8")

    answer = answering(kept_trials(folder / key), image)
    while answer is None:  # or another process's, which replaced ours, says nothing of the image
        entry = stored(folder, key, build, SilentProgress(), Deadline.after(TRIAL_S * 3), again=True, lasting=False)
        answer = answering(read_trials(entry), image)
        let_go(entry)  # it was read: who tries again need not wait for our end
    return answer


def answering(trials: Mapping[str, Trial], image: GuestImage) -> Trial | None:
    """The image's own trial; of other images one that failed, where none came up."""
    own = trials.get(image.key)
    if own is not None or any(one.alive for one in trials.values()):
        return own
    return next(iter(trials.values()), None)


def kept_trials(entry: Path) -> dict[str, Trial]:
    """The trials of an entry that still hold, by the key of their image; none where it cannot be read."""
    try:
        trials = read_trials(entry)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    now = time.time()
    return {name: one for name, one in trials.items() if 0 <= now - one.at_s < one.holds_s}  # below 0: the clock was put back


def read_trials(entry: Path) -> dict[str, Trial]:
    """The trials of an entry, by the key of their image."""
    return {name: Trial(**one) for name, one in json.loads((entry / TRIAL).read_text(encoding="utf-8")).items()}


def trial_boot(root: HostRoot, image: GuestImage, accel: Accel, deadline: Deadline) -> Trial:
    """Boot no more than kernel and initramfs, which says that it lives and reboots, which ends QEMU."""
    argv = (
        QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-machine", "q35", "-accel", accel.options(), "-cpu", "max", "-m", "512M",
        "-bios", "qboot.rom", "-kernel", image.kernel, "-initrd", image.initramfs, "-append", TRIAL_ARGUMENTS,
        "-serial", "stdio",
    )  # fmt: skip
    inside = root.enter(argv, binds=(Bind(image.kernel.parent), Bind(image.initramfs.parent)), env={"HOME": "/tmp"})
    alive = False
    try:
        done = finish(inside, deadline=deadline)
    except GuestError as error:
        seen = f"nothing within {deadline.elapsed_s:.0f} s ({type(error).__name__})"
    else:
        alive = ALIVE in done.output
        seen = ALIVE if alive else f"QEMU ended with {done.exit_status}: {done.output.strip()[-300:]}"
    return Trial(alive, seen, image.release, time.time(), deadline.elapsed_s)


def gl_path(root: HostRoot, nodes: tuple[Path, ...]) -> GlPath:
    """The first way to OpenGL that QEMU accepts: each render node, then software in an SDL window nobody sees.

    A way that was found is remembered. A refusal is not: it may have been the hour's (a busy machine, a cold disk).
    """
    if (root.key, nodes) not in GL_PATHS:
        path = _tried_gl_path(root, nodes)
        if not path.capability.ok:
            return path
        GL_PATHS[root.key, nodes] = path
    return GL_PATHS[root.key, nodes]


def _tried_gl_path(root: HostRoot, nodes: tuple[Path, ...]) -> GlPath:
    refused: list[str] = []
    for display, node in (*((Display.EGL_HEADLESS, node) for node in nodes), (Display.SDL_OFFSCREEN, None)):
        problem = _gl_problem(root, display, node)
        if problem is None:
            where = f" on {node}" if node else " with software rendering"
            probed = "; ".join((*refused, f"QEMU started with virtio-gpu-gl-pci and {display}{where}"))
            return GlPath(display, node, Capability("opengl", True, probed))
        refused.append(f"{display}{f' on {node}' if node else ''}: {problem}")
    return GlPath(Display.NONE, None, Capability("opengl", False, "; ".join(refused), "run `lab setup --refresh`"))


def _gl_problem(root: HostRoot, display: Display, node: Path | None) -> str | None:
    """Start QEMU, its CPUs stopped, with a GL device; None when it greets on QMP."""
    screens = {Display.EGL_HEADLESS: f"egl-headless,rendernode={node}", Display.SDL_OFFSCREEN: "sdl,gl=on"}
    with ExitStack() as stack:
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        stack.callback(theirs.close)
        folder = stack.enter_context(temporary_folder("gl"))
        argv = (
            QEMU, "-nodefaults", "-no-user-config", "-S", "-machine", "q35", "-accel", "tcg", "-m", "128M",
            "-display", screens[display], "-device", "virtio-gpu-gl-pci,blob=true,hostmem=256M,venus=true",
            "-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-qmp", "chardev:qmp",
        )  # fmt: skip
        inside = root.enter(argv, env=dict(display_environment(display)))
        child = stack.enter_context(spawn(inside, log=folder / "log", pass_fds=(theirs.fileno(),)))
        theirs.close()
        try:
            with qmp_session(ours, folder / "qmp", Deadline.after(GL_S)) as session:
                session.execute("quit", deadline=Deadline.after(GL_S))
        except GuestError as error:
            return child.log_tail().strip()[-300:] or str(error)
        return None
