"""A user's home as a run sees it: readable, but not writable and without its credentials.

Data sets and model caches live in the home directory, so it cannot be hidden as a whole. Masked
are the usual places of keys, tokens, passwords and shell histories, also where an environment
variable moved them. A secret in a place of its own is not known here and stays readable.
"""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_CREDENTIALS = (
    # shells and remote machines
    ".ssh .gnupg .netrc _netrc .Xauthority .ICEauthority .bash_history .zsh_history .sh_history "
    ".history .histfile .python_history .sqlite_history .psql_history .mysql_history .lesshst "
    ".node_repl_history .rediscli_history .local/share/fish/fish_history .config/fish/fish_history "
    ".env .envrc .pgpass .my.cnf .password-store .local/share/keyrings .local/share/kwalletd "
    # clouds and containers
    ".aws .azure .boto .config/gcloud .config/doctl .config/rclone .oci .s3cfg .mc .ngc .docker "
    ".kube .minikube .config/containers .config/helm .terraform.d .vault-token .databrickscfg "
    ".snowflake .snowsql .modal.toml .runpod .lightning .config/op .config/sops "
    # forges and package indexes
    ".git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .pypirc .pip "
    ".config/pip .npmrc .yarnrc .yarnrc.yml .cargo/credentials .cargo/credentials.toml "
    ".gem/credentials .m2/settings.xml .gradle/gradle.properties .composer/auth.json "
    # language models and their agents
    ".claude .claude.json .config/claude .config/anthropic .codex .config/openai .gemini .cursor "
    ".config/github-copilot .config/io.datasette.llm .config/aider .config/opencode "
    ".local/share/opencode .qwen .config/goose .local/share/goose "
    # hubs and trackers
    ".huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .kaggle "
    ".config/kaggle .config/wandb .wandb .comet.config .clearml.conf clearml.conf .neptune "
    ".local/share/jupyter/runtime .jupyter "
    # browsers
    ".mozilla .config/google-chrome .config/chromium .config/BraveSoftware "
    "Library/Keychains Library/Cookies"
).split()

_POINTERS = (
    "AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG "
    "AZURE_CONFIG_DIR KUBECONFIG DOCKER_CONFIG GNUPGHOME NETRC PGPASSFILE KAGGLE_CONFIG_DIR "
    "HF_TOKEN_PATH CODEX_HOME CLAUDE_CONFIG_DIR BOTO_CONFIG PIP_CONFIG_FILE NPM_CONFIG_USERCONFIG "
    "WANDB_CONFIG_DIR GH_CONFIG_DIR HISTFILE XAUTHORITY"
).split()

_SYSTEM = (
    "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/krb5.keytab /etc/kubernetes "
    "/etc/ssl/private /run/secrets /var/run/secrets /var/lib/sss/db /var/lib/sss/secrets"
).split()

# The folders inside .cache count when they are links to a larger disk, or mounts of their own.
_CACHES = (
    ".cache .cache/huggingface .cache/torch .triton .nv .keras .matplotlib .config/matplotlib "
    ".torch"
).split()

_CACHE_POINTERS = (
    "XDG_CACHE_HOME HF_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_DATASETS_CACHE "
    "TRANSFORMERS_CACHE TORCH_HOME TORCH_EXTENSIONS_DIR TRITON_CACHE_DIR KERAS_HOME MPLCONFIGDIR "
    "CUDA_CACHE_PATH NUMBA_CACHE_DIR"
).split()

# variable -> where the library would write without it. What is compiled anew can go elsewhere
# whenever the real place cannot be written; what was downloaded only if there is nothing yet.
_COMPILED = {
    "TRITON_CACHE_DIR": ".triton",
    "NUMBA_CACHE_DIR": ".cache/numba",
    "MPLCONFIGDIR": ".config/matplotlib",
    "TORCH_EXTENSIONS_DIR": ".cache/torch_extensions",
}
_DOWNLOADED = {"XDG_CACHE_HOME": ".cache", "KERAS_HOME": ".keras"}


_THAT_MOVE = (
    *("HOME", "HF_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
    *_POINTERS,
    *_CACHE_POINTERS,
)
_FRESH_S = 5.0


@dataclass(frozen=True, slots=True)
class Home:
    """What of the home directories needs care; paths exist and are free of links.

    Attributes:
        folder: the home directory of this user.
        masked: credentials; nothing of them may be read.
        caches: directories that programs write to as a matter of course.
        chosen: the cache variables that the environment sets already.
    """

    folder: Path
    masked: tuple[Path, ...]
    caches: tuple[Path, ...]
    chosen: frozenset[str]

    def environment(self, tmpdir: Path, *, mounted: bool, overlay: bool) -> dict[str, str]:
        """Return what a run's environment needs where it cannot write to the home directory.

        Args:
            tmpdir: as the run sees it; caches that have no other place go below it.
            mounted: whether masked files look empty; else reading them is an error.
            overlay: whether writes to ``caches`` succeed (and are thrown away).
        """
        env = {"TMPDIR": str(tmpdir)}
        for name, place in {**_COMPILED, **_DOWNLOADED}.items():
            is_cache = self._is_cache(place)
            if name not in self.chosen and (not is_cache or (name in _COMPILED and not overlay)):
                env[name] = str(tmpdir / Path(place).name.lstrip("."))
        if not mounted:
            # A token that is missing is no trouble to the hub's library; one it may not read is.
            env["HF_TOKEN_PATH"] = str(tmpdir / "no-token")
        return env

    def _is_cache(self, place: str) -> bool:
        path = (self.folder / place).resolve()
        return any(is_below(path, cache) for cache in self.caches)


def is_below(path: Path, top: Path) -> bool:
    """Say whether ``path`` is ``top`` or lies below it; both absolute and without ``..``.

    ``Path.is_relative_to`` says the same, and takes ten times as long for each of the hundreds of
    pairs that one run asks about.
    """
    text, start = str(path), str(top)
    return text == start or text.startswith(start if start == "/" else start + "/")


def survey_home(environ: Mapping[str, str] | None = None) -> Home:
    """Look for credentials and caches of this user (and, where they can be read, of others).

    Args:
        environ: where HOME and the variables that move things are looked up; None for ``os``'s.
    """
    environ = os.environ if environ is None else environ
    own = pwd.getpwuid(os.getuid()).pw_dir if _is_known(os.getuid()) else "/"
    home = Path(environ.get("HOME") or own)
    secrets = [*_SYSTEM, *map(str, Path("/etc/ssh").glob("ssh_host_*_key"))]
    for folder in {home, Path(own), Path("/root"), *_listing("/home")} - {Path("/")}:
        secrets += [str(folder / name) for name in _CREDENTIALS]
    secrets += _moved(environ, _CREDENTIALS)
    for name in _POINTERS:
        secrets += environ.get(name, "").split(os.pathsep)
    if environ.get("HF_HOME"):
        secrets += [f"{environ['HF_HOME']}/{name}" for name in ("token", "stored_tokens")]
    caches = [str(home / name) for name in _CACHES]
    caches += [environ[name] for name in _CACHE_POINTERS if environ.get(name)]
    home = home.resolve()
    return Home(
        home,
        tuple(_outermost(path for path in _existing(secrets) if not home.is_relative_to(path))),
        tuple(_outermost(path for path in _existing(caches) if path.is_dir())),
        frozenset(name for name in _CACHE_POINTERS if environ.get(name)),
    )


def recent_home(environ: Mapping[str, str]) -> Home:
    """Return what ``survey_home`` found, at most a few seconds ago.

    A run that begins now is then no worse off than one that began at that moment; and hundreds of
    places are not looked up for each of many short runs.
    """
    moved = tuple(sorted((name, environ[name]) for name in _THAT_MOVE if environ.get(name)))
    return _surveyed(moved, int(time.monotonic() / _FRESH_S))


@lru_cache(maxsize=4)
def _surveyed(moved: tuple[tuple[str, str], ...], _moment: int) -> Home:
    return survey_home(dict(moved))


def _is_known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False  # a number without a name, as in many containers
    return True


def _listing(folder: str) -> list[Path]:
    try:
        return sorted(Path(folder).iterdir())
    except OSError:
        return []


def _moved(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield the places to which the XDG variables moved some of ``names``."""
    for variable, usual in (
        ("XDG_CONFIG_HOME", ".config/"),
        ("XDG_CACHE_HOME", ".cache/"),
        ("XDG_DATA_HOME", ".local/share/"),
    ):
        if environ.get(variable):
            for name in names:
                if name.startswith(usual):
                    yield f"{environ[variable]}/{name.removeprefix(usual)}"


def _existing(names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        if os.path.isabs(name) and os.path.exists(name):  # noqa: PTH110, PTH117 (no error if barred)
            yield Path(os.path.realpath(name))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return ``paths`` without those that another one shows as well, in path order."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not kept or not path.is_relative_to(kept[-1]) or path.is_mount():
            kept.append(path)
    return kept
