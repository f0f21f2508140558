from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.errors import ConfigError, HostError
from lab.host import apt
from lab.host.apt import HostPackage, deb822_sources, debian_mirror, missing_packages, one_line_sources
from lab.host.probe import mirror
from lab.host.progress import SilentProgress

DEB822 = """\
Types: deb
# a comment within
URIs: http://mirror.example/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: trixie
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: trixie
Components: main
"""


@pytest.fixture(autouse=True)
def no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(apt.MIRROR_VARIABLE, raising=False)


def apt_folder(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        target = tmp_path / "sources.list" if name == "sources_list" else tmp_path / "sources.list.d" / name.replace("__", ".")
        target.write_text(text)
    return tmp_path


def test_one_line_sources() -> None:
    text = (
        "# deb http://off.example x main\n"
        "deb [arch=amd64 signed-by=/k] http://a.example/debian trixie main contrib # why\n"
        "deb-src http://b x main\n"
    )
    assert list(one_line_sources(text)) == [("http://a.example/debian", "trixie", ("main", "contrib"))]


def test_deb822_sources_leave_out_disabled_and_source_only() -> None:
    assert list(deb822_sources(DEB822)) == [
        ("http://mirror.example/debian/", "bookworm", ("main",)),
        ("http://mirror.example/debian/", "bookworm-updates", ("main",)),
    ]


def test_values_go_on_in_lines_that_begin_with_a_blank() -> None:
    text = "Types: deb\nURIs: http://a/\n http://b/\nSuites: trixie\n\ttrixie-updates\nComponents: main\n contrib\n"
    found = [(uri, suite, ("main", "contrib")) for uri in ("http://a/", "http://b/") for suite in ("trixie", "trixie-updates")]
    assert list(deb822_sources(text)) == found


@pytest.mark.parametrize("beside", ["updates", "proposed-updates", "backports", "backports-sloppy"])
def test_mirror_is_known_by_what_lies_beside_a_release(tmp_path: Path, beside: str) -> None:
    assert debian_mirror(apt_folder(tmp_path, sources_list=f"deb http://m.example/debian trixie-{beside} main\n")).endswith(
        "debian"
    )


VENDORS = """\
deb https://vendor.example/chrome/deb stable main
deb https://vendor.example/debian/12/prod bookworm main
"""


def test_path_tells_a_mirror_from_a_vendors_archive_where_apt_knows_neither(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, a__list=VENDORS, debian__sources=DEB822)
    assert debian_mirror(folder) == "http://mirror.example/debian"
    (folder / "sources.list.d/debian.sources").unlink()
    assert debian_mirror(folder) == "https://vendor.example/debian/12/prod"
    (folder / "sources.list.d/a.list").write_text(VENDORS.splitlines()[0])
    assert debian_mirror(folder) == "https://vendor.example/chrome/deb", "it may be one"


def test_apt_tells_a_mirror_from_vendors_archives(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, a__list=f"{VENDORS}deb http://m.example/d trixie main\ndeb http://x.example/debian trixie main\n")
    listed = (
        "Google LLC|Google|https://vendor.example/chrome/deb/\n"
        "Vendor|Debian|https://vendor.example/debian/12/prod/\n"
        "Debian|Debian|http://m.example/d/\nDebian|Debian debug|http://m.example/d/\n"
    )
    assert debian_mirror(folder, archives=lambda: listed) == "http://m.example/d"
    unlisted = "".join(line for line in listed.splitlines(keepends=True) if "m.example" not in line)
    assert debian_mirror(folder, archives=lambda: unlisted) == "http://x.example/debian"
    (folder / "sources.list.d/a.list").write_text(VENDORS)
    with pytest.raises(ConfigError, match=apt.MIRROR_VARIABLE):
        debian_mirror(folder, archives=lambda: listed)


@pytest.mark.parametrize(
    ("program", "answer"), [("echo 'a|b|c'", "a|b|c\n"), ("echo E: odd; exit 1", ""), ("sleep 60", ""), (None, "")]
)
def test_apt_that_does_not_answer_knows_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, answer: str
) -> None:
    if program is not None:
        (tmp_path / "apt-get").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{program}\n")
        (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(apt, "PROBE_S", 0.5 if program == "sleep 60" else 20.0)
    assert apt.listed_archives() == answer


def test_apt_itself_is_asked_of_its_own_configuration_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = apt_folder(tmp_path, debian__sources=DEB822)
    monkeypatch.setattr(apt, "listed_archives", lambda: "Other|Other|http://mirror.example/debian/\n")
    assert debian_mirror(folder) == "http://mirror.example/debian"
    monkeypatch.setattr(apt, "APT_FOLDER", folder)
    with pytest.raises(ConfigError, match=apt.MIRROR_VARIABLE):
        debian_mirror(folder)


def test_mirror_is_taken_from_a_debian_suite(tmp_path: Path) -> None:
    folder = apt_folder(
        tmp_path,
        sources_list=(
            "deb http://other.example/ubuntu noble main\ndeb http://security.example/debian-security bookworm-security main\n"
        ),
        debian__sources=DEB822,
    )
    assert debian_mirror(folder) == "http://mirror.example/debian"


def test_mirror_list_file_is_followed(tmp_path: Path) -> None:
    listing = tmp_path / "mirrors"
    listing.write_text("ftp://no.example\nhttps://yes.example/debian/\n")
    (tmp_path / "apt").mkdir()
    folder = apt_folder(tmp_path / "apt", sources_list=f"deb mirror+file://{listing} trixie main\n")
    assert debian_mirror(folder) == "https://yes.example/debian"


def test_sources_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    folder = apt_folder(tmp_path, sources_list="deb mirror+file:/not/there trixie main\n", debian__sources=DEB822)
    (folder / "sources.list.d" / "a.list").mkdir()
    # root may read everything, so what nobody can read stands for what a user may not
    (folder / "sources.list.d" / "a.sources").mkdir()
    assert debian_mirror(folder) == "http://mirror.example/debian"


def test_override_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "http://mine.example/debian/")
    assert debian_mirror(apt_folder(tmp_path, debian__sources=DEB822)) == "http://mine.example/debian"


def test_variable_that_names_no_mirror_is_told_and_is_none_to_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "deb.example/debian")
    with pytest.raises(ConfigError, match=r"VIRTGPU_LAB_MIRROR: 'deb\.example/debian' is no URI of a mirror"):
        debian_mirror(apt_folder(tmp_path, debian__sources=DEB822))
    assert not mirror().ok
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "file:/srv/debian")
    assert mirror().ok


@pytest.mark.parametrize(
    "line",
    [
        "deb http://other.example/ubuntu noble main",
        "deb http://security.example/debian-security trixie-security main",
        "deb http://vendor.example/apt trixie stable",
        "deb http://vendor.example/apt trixie-pgdg main",
        "deb http://m.example/debian-debug trixie-debug main",
        "deb http://m.example/debian bullseye/updates main",
        "deb cdrom:[Debian]/ trixie main",
    ],
)
def test_host_without_a_debian_mirror_is_told_the_variable(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=apt.MIRROR_VARIABLE):
        debian_mirror(apt_folder(tmp_path, sources_list=line + "\n"))


def test_proxies_of_apt_are_passed_on() -> None:
    lines = [
        'Acquire::http::Proxy "http://p:1";',
        'Acquire::https::Proxy "";',
        'Acquire::http::Proxy::mirror.corp "DIRECT";',
        'Acquire::Languages "";',
    ]
    assert list(apt._proxies(lines)) == [lines[0], lines[2]]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = (
        HostPackage("there", "sh"),
        HostPackage("not-there", "/no/such/file"),
        HostPackage("for-users", "no-such-program", ordinary_user_only=True),
        HostPackage("to-build", "no-such-program", to_build_only=True),
    )
    monkeypatch.setattr(apt, "NEEDED", needed)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 0)
    assert missing_packages() == ("not-there", "to-build")
    assert missing_packages(for_users=True) == ("not-there", "for-users", "to-build")
    assert missing_packages(to_build=False) == ("not-there",)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 1000)
    assert missing_packages() == ("not-there", "for-users", "to-build")
    assert missing_packages(to_build=False) == ("not-there", "for-users")


def test_what_only_builds_is_installed_to_build_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "NEEDED", (HostPackage("to-build", "no-such-program", to_build_only=True),))
    monkeypatch.setattr(apt, "_root_prefix", lambda: None)
    apt.ensure_packages(SilentProgress(), Deadline.after(5.0), to_build=False)
    with pytest.raises(HostError, match="not installed: to-build"):
        apt.ensure_packages(SilentProgress(), Deadline.after(5.0))


def test_program_is_found_without_a_path_as_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert HostPackage("there", "sh").installed()


def test_package_that_is_not_there_when_apt_has_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(apt, "NEEDED", (HostPackage("odd", "no-such-program"),))
    monkeypatch.setattr(apt, "_root_prefix", tuple)
    with pytest.raises(HostError, match="still not there after installing: odd"):
        apt.ensure_packages(SilentProgress(), Deadline.after(20))
