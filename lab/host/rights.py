"""What this user may do here: make a tree, enter it. Asked by ``lab doctor``, and before anything is built."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.deadline import Deadline
from lab.errors import HostError
from lab.host.capability import Capability
from lab.process import finish

PROBE_S = 30.0
NAMESPACES = ("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
"""Words of bwrap's: what programs in a host root have of their own."""
MACHINE = ("--dev-bind", "/dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys", "--tmpfs", "/tmp", "--tmpfs", "/run")
"""Words of bwrap's: what they see of the machine, and have empty."""
MASKED = "a container whose /proc has masked paths needs --security-opt systempaths=unconfined"
"""Who sees less of /proc than all may not mount another one."""


def require(capability: Capability) -> None:
    """Raise ``HostError`` for a capability that is not there."""
    if not capability.ok:
        raise HostError(capability.name, capability.probed, hint=capability.hint)


def user_rights() -> Capability:
    """Root, or an ordinary user with what building a root takes."""
    user, tried = os.geteuid(), (*own_namespace(), "true")
    if user == 0:
        return by_command("user-rights", tried, "running as root, and `unshare` works", f"rights to mount are needed; {MASKED}")
    ranges = [name for name in ("subuid", "subgid") if not has_range(Path("/etc") / name, user)]
    if ranges:
        hint = f"as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {_user_name(user)}"
        return Capability("user-rights", False, f"user {user} has no range in /etc/{' and /etc/'.join(ranges)}", hint)
    hint = f"util-linux 2.38 and user namespaces are needed, to build roots without being root; {MASKED}"
    success = f"user {user} has subordinate user and group ids, and `unshare` can use them"
    return by_command("user-rights", tried, success, hint)


def own_namespace() -> tuple[str, ...]:
    """The words that give a program processes of its own, which end with it, and an ordinary user the rights to make a tree.

    In the user's namespace root is the user, and all other ids are the subordinate ones. mmdebstrap's own unshare mode does
    about the same, but a killed one leaves processes behind.
    """
    identities = () if os.geteuid() == 0 else ("--map-root-user", "--map-auto")
    return ("unshare", *identities, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def has_range(path: Path, user: int) -> bool:
    """Whether a file of subordinate ids has a range for the user, by name or number."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.split(":")[0] in (str(user), _user_name(user)) for line in lines)


def sandbox() -> Capability:
    """Whether bwrap does what a host root is entered with: some distributions forbid user namespaces to programs by name."""
    argv = ("bwrap", *NAMESPACES, "--ro-bind", "/", "/", *MACHINE, "true")
    hint = "allow unprivileged user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    return by_command("sandbox", argv, "ran `true` in bwrap", f"{hint}; {MASKED}")


def network_namespace() -> Capability:
    """Whether a network namespace of one's own can be made."""
    as_root = ("--map-root-user",) if os.geteuid() != 0 else ()
    argv = ("unshare", *as_root, "--net", "true")
    return by_command(
        "network-namespace", argv, f"ran `{' '.join(argv)}`", "needed by no scenario today; allow user namespaces to have it"
    )


def by_command(name: str, argv: Sequence[str], success: str, hint: str) -> Capability:
    """A capability that is there if a command ends with 0."""
    if shutil.which(argv[0]) is None:
        return Capability(name, False, f"{argv[0]} is not installed", "see the capability `packages`")
    done = finish(argv, deadline=Deadline.after(PROBE_S))
    if done.exit_status == 0:
        return Capability(name, True, success)
    return Capability(name, False, f"`{' '.join(argv)}` ended with {done.exit_status}: {done.output.strip()[-300:]}", hint)
