"""``lae serve``: one process that serves the API until it is stopped."""

from __future__ import annotations

import contextlib
import os
import socket

from lae_controller.config import read_text
from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.remarks import Say
from lae_controller.service.access import check_token, is_loopback
from lae_controller.service.credentials import TOKEN_VARIABLE
from lae_controller.service.serve_config import ServeSettings

_BACKLOG = 2_048


def read_token(settings: ServeSettings) -> str | None:
    """Return the token that requests must carry; None if there is none.

    Raises:
        ConfigError: if its file cannot be read or is empty.
    """
    if settings.token_file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    path = settings.folder / settings.token_file
    token = read_text(path).strip()
    if not token:
        raise ConfigError(f"{path}: the file is empty; expected the token on one line")
    return token


def serve(settings: ServeSettings, say: Say) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        PrerequisiteError: if starlette or uvicorn is missing, or the address is taken.
        ConfigError: if the address needs a token.
        LockedError, LedgerError: if the folder is held by another server, or damaged.
    """
    token = read_token(settings)
    check_token(settings.host, token)
    try:
        from lae_controller.service.app import make_app
        from lae_controller.service.uvicorn_server import run_app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise PrerequisiteError(
            f"serve: {error.name} is not installed; expected it. "
            "`pip install 'lae-controller[serve]'`"
        ) from None
    from lae_controller.service.dashboard import Dashboard
    from lae_controller.service.service import Service

    listening = _bind(settings.host, settings.port)
    with contextlib.closing(listening), contextlib.closing(Service(settings, say)) as service:
        say(f"lae: serving {_url(listening)} from {settings.root}{_open(settings, token)}")
        say(f"lae: the dashboard is at {_url(listening)}/dashboard")
        dashboard = Dashboard(service.board)
        run_app(make_app(service, settings.host, token, dashboard), listening, dashboard.end)
    say("lae: stopped; everything that was answered is on the disk")


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that asyncio turns Nagle's algorithm off: replies are written in two
    # parts, and the second would wait 40 ms for the first to be acknowledged.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)  # from here on callers wait instead of being turned away
    except OSError as error:
        listening.close()
        raise PrerequisiteError(
            f"{host}:{port}: cannot be listened on ({error.strerror}); expected a free address. "
            "--port 0 takes any free port"
        ) from None
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _open(settings: ServeSettings, token: str | None) -> str:
    if token is not None:
        return ""
    where = "this machine" if is_loopback(settings.host) else settings.host
    return f"; open to everybody on {where}"
