from __future__ import annotations

from pathlib import Path

import pytest

from lae_controller.errors import PrerequisiteError
from lae_controller.sandbox import tiers
from lae_controller.sandbox.bubblewrap import Bubblewrap
from lae_controller.sandbox.home import Home, survey_home
from lae_controller.sandbox.seatbelt import profile
from lae_controller.sandbox.tiers import (
    Found,
    TierReport,
    choose,
    probe_tiers,
    setup_failed,
    wrap,
)
from lae_controller.sandbox.view import Tier, View

HOME = Home(Path("/home/ada"), (Path("/home/ada/.ssh"),), (Path("/home/ada/.cache"),), frozenset())
VIEW = View(Path("/box/work"), Path("/repo"), Path("/box/tmp"), Path("/box/proof"))


def report(*working: Tier) -> TierReport:
    found = tuple(
        Found(tier, tier in working, f"{tier.value}: {'fine' if tier in working else 'cure me'}.")
        for tier in (Tier.BWRAP, Tier.LANDLOCK)
    )
    return TierReport(working[0] if working else Tier.NONE, found, None, HOME)


@pytest.mark.parametrize(
    ("wanted", "working", "tier"),
    [
        ("auto", (Tier.BWRAP, Tier.LANDLOCK), Tier.BWRAP),
        ("auto", (Tier.LANDLOCK,), Tier.LANDLOCK),
        ("landlock", (Tier.BWRAP, Tier.LANDLOCK), Tier.LANDLOCK),
        ("none", (Tier.BWRAP,), Tier.NONE),
        ("none", (), Tier.NONE),
    ],
)
def test_the_strongest_or_the_one_that_was_asked_for(
    wanted: str, working: tuple[Tier, ...], tier: Tier
) -> None:
    assert choose(wanted, report(*working)) is tier


@pytest.mark.parametrize(
    ("wanted", "working", "said"),
    [
        ("auto", (), r"bwrap: cure me\. landlock: cure me\..*isolation: none"),
        ("bwrap", (Tier.LANDLOCK,), r"isolation: bwrap does not work.*bwrap: cure me"),
        ("landlock", (Tier.BWRAP,), r"isolation: landlock does not work.*landlock: cure me"),
    ],
)
def test_never_a_weaker_one_than_was_asked_for(
    wanted: str, working: tuple[Tier, ...], said: str
) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        choose(wanted, report(*working))


def test_the_report_names_the_best_and_what_is_wrong_with_the_others() -> None:
    assert report(Tier.LANDLOCK).lines() == (
        "isolation: landlock",
        "landlock: fine.",
        "bwrap: cure me.",
    )
    assert report(Tier.BWRAP, Tier.LANDLOCK).reasons == ()


def test_the_probe_agrees_with_itself() -> None:
    found = probe_tiers()
    assert probe_tiers() is found
    assert found.works(found.best)
    assert (found.bubblewrap is not None) == found.works(Tier.BWRAP)


@pytest.mark.parametrize(
    ("settings", "said", "expected"),
    [
        ({"user/max_user_namespaces": "0"}, "bwrap: No", "sysctl -w user.max_user_namespaces"),
        (
            {"kernel/unprivileged_userns_clone": "0", "user/max_user_namespaces": "9000"},
            "bwrap: No permissions",
            "kernel.unprivileged_userns_clone is 0",
        ),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            "bwrap: setting up uid map: Permission denied",
            "apt-get install bubblewrap",
        ),
        ({}, "bwrap: Can't mount proc on /newroot/proc: Operation not", "systempaths=unconfined"),
        ({}, "bwrap: Creating new namespace failed: Operation", "seccomp=unconfined"),
    ],
)
def test_the_cure_fits_the_cause(
    tmp_path: Path, settings: dict[str, str], said: str, expected: str
) -> None:
    for name, value in settings.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(value + "\n")
    assert expected in tiers.cure(said, tmp_path)


@pytest.mark.parametrize(
    ("output", "status", "failed"),
    [
        (b"bwrap: Can't find source path /x: No such file or directory\n", 1, True),
        (b"lae-confine: cannot seal /dev/null: Operation not permitted\n", 125, True),
        (b"cannot start '/gone/bwrap': [Errno 2] No such file or directory\n", 127, True),
        (b"epoch 1\nbwrap: something the program says\n", 1, False),
        (b"bwrap: Can't find source path\n", 2, False),
        (b"Traceback (most recent call last):\n", 1, False),
        (b"", 1, False),
        (b"bwrap: x\n", None, False),
    ],
)
def test_a_tier_that_fails_is_told_from_a_child_that_fails(
    output: bytes, status: int | None, failed: bool
) -> None:
    assert (setup_failed(output, status) is not None) == failed


def test_none_changes_nothing_but_tmpdir() -> None:
    wrapped = wrap(Tier.NONE, VIEW, ("python", "train.py"))
    assert wrapped.argv == ("python", "train.py")
    assert (wrapped.cwd, wrapped.proof) == (VIEW.work, VIEW.proof)
    assert wrapped.env == {"TMPDIR": "/box/tmp"}


def test_a_tier_that_does_not_work_cannot_be_used() -> None:
    with pytest.raises(PrerequisiteError, match="isolation: seatbelt does not work"):
        wrap(Tier.SEATBELT, VIEW, ("true",))


def make(home: Path, *names: str) -> None:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s3cret")


def below(home: Path, paths: tuple[Path, ...]) -> set[str]:
    return {str(path.relative_to(home)) for path in paths if path.is_relative_to(home)}


def test_credentials_are_found_where_they_usually_are(tmp_path: Path) -> None:
    make(tmp_path, ".ssh/id_rsa", ".netrc", ".cache/huggingface/token", ".config/gcloud/x.db")
    make(tmp_path, ".bash_history", "thesis.tex", ".config/htop/htoprc", ".cache/pip/x")
    home = survey_home({"HOME": str(tmp_path)})
    assert below(tmp_path, home.masked) == {
        ".ssh",
        ".netrc",
        ".cache/huggingface/token",
        ".config/gcloud",
        ".bash_history",
    }
    assert below(tmp_path, home.caches) == {".cache"}


def test_credentials_are_found_where_a_variable_put_them(tmp_path: Path) -> None:
    make(tmp_path, "keys/aws.ini", "hf/token", "conf/gh/hosts.yml", "k1", "k2")
    home = survey_home(
        {
            "HOME": str(tmp_path),
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys/aws.ini"),
            "HF_HOME": str(tmp_path / "hf"),
            "XDG_CONFIG_HOME": str(tmp_path / "conf"),
            "KUBECONFIG": f"{tmp_path}/k1:{tmp_path}/k2",
            "NETRC": "relative/netrc",
            "DOCKER_CONFIG": str(tmp_path),
        }
    )
    assert below(tmp_path, home.masked) == {"keys/aws.ini", "hf/token", "conf/gh", "k1", "k2"}
    assert below(tmp_path, home.caches) == {"hf"}


def test_a_linked_secret_is_masked_where_it_lies(tmp_path: Path) -> None:
    make(tmp_path / "dotfiles", "netrc")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").symlink_to(tmp_path / "dotfiles/netrc")
    (home / ".aws").symlink_to(tmp_path / "nowhere")
    masked = survey_home({"HOME": str(home)}).masked
    assert below(tmp_path, masked) == {"dotfiles/netrc"}


def test_caches_that_cannot_be_written_go_elsewhere(tmp_path: Path) -> None:
    make(tmp_path, ".cache/torch/x")
    home = survey_home({"HOME": str(tmp_path), "TRITON_CACHE_DIR": "/fast/triton"})
    layered = home.environment(Path("/t"), mounted=True, overlay=True)
    assert layered["TMPDIR"] == "/t"
    assert layered["KERAS_HOME"] == "/t/keras"
    assert {"NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME"}.isdisjoint(layered)
    plain = home.environment(Path("/t"), mounted=False, overlay=False)
    assert plain["NUMBA_CACHE_DIR"] == "/t/numba"
    assert plain["HF_TOKEN_PATH"] == "/t/no-token"
    assert {"TRITON_CACHE_DIR", "XDG_CACHE_HOME"}.isdisjoint(plain)


def test_the_macos_profile_names_what_is_writable_and_what_is_not() -> None:
    text = profile(HOME, VIEW)
    assert '(allow file-write* (subpath "/box/work")' in text
    assert '(deny file-read-data (subpath "/home/ada/.ssh"))' in text
    assert "(deny network*)" in text
    online = View(VIEW.work, VIEW.stands_at, VIEW.scratch, VIEW.proof, network=True)
    assert "(deny network*)" not in profile(HOME, online)


def test_bubblewrap_is_told_to_die_with_the_warden() -> None:
    words = Bubblewrap(Path("/usr/bin/bwrap"), "0.8.0").base()
    assert {"--die-with-parent", "--unshare-pid", "--unshare-ipc"} <= set(words)
    assert "--unshare-user" in Bubblewrap(Path("/b"), "1", user_namespace=True).base()
