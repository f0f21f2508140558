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


def require(capability: Capability) -> None:
    """Raise ``HostError`` for a capability that is not there."""
    if not capability.ok:
        raise HostError(capability.name, capability.probed, hint=capability.hint)


def user_rights() -> Capability:
    """Root, or an ordinary user with what building a root takes."""
    user = os.geteuid()
    if user == 0:
        return Capability("user-rights", True, "running as root")
    ranges = [name for name in ("subuid", "subgid") if not has_range(Path("/etc") / name, user)]
    if ranges:
        hint = f"as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {_user_name(user)}"
        return Capability("user-rights", False, f"user {user} has no range in /etc/{' and /etc/'.join(ranges)}", hint)
    hint = "util-linux 2.38 and user namespaces are needed, to build roots without being root"
    success = f"user {user} has subordinate user and group ids, and `unshare` can use them"
    return by_command("user-rights", ("unshare", "--map-root-user", "--map-auto", "true"), success, hint)


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
    """Whether bwrap itself works: some distributions forbid user namespaces to programs by name."""
    argv = ("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--die-with-parent", "true")
    hint = "allow unprivileged user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    return by_command("sandbox", argv, "ran `true` in bwrap", hint)


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
