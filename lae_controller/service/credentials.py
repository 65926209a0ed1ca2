"""Where the bearer token of a request comes from: a file, the environment, or Google's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lae_controller.config import read_text
from lae_controller.errors import PrerequisiteError

TOKEN_VARIABLE = "LAE_SERVE_TOKEN"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LOGIN = "gcloud auth application-default login"

Token = Callable[[], str | None]


def token_for(server: str, token_file: Path | None) -> Token:
    """Return what gives the token for a server.

    Google's servers take Application Default Credentials, any other the token that it was started
    with.

    Raises:
        PrerequisiteError: if Google's credentials are needed and cannot be had.
    """
    host = urlsplit(server).hostname or ""
    if token_file is None and (host == "googleapis.com" or host.endswith(".googleapis.com")):
        return _google()
    given = os.environ.get(TOKEN_VARIABLE)
    token = read_text(token_file).strip() if token_file is not None else given
    return lambda: token or None


def _google() -> Token:
    try:
        auth: Any = import_module("google.auth")
        transport: Any = import_module("google.auth.transport.requests")
    except ImportError as error:
        raise PrerequisiteError(
            f"{error.name or 'google-auth'} is not installed; expected it for Google's servers. "
            "`pip install 'lae-controller[cloud]'`"
        ) from None
    try:
        credentials, _ = auth.default(scopes=[_SCOPE])
    except auth.exceptions.GoogleAuthError as error:
        raise PrerequisiteError(
            f"no credentials for Google's servers ({error}); expected Application Default "
            f"Credentials. `{_LOGIN}` makes them"
        ) from None

    def token() -> str | None:
        if not credentials.valid:
            try:
                credentials.refresh(transport.Request())
            except auth.exceptions.GoogleAuthError as error:
                raise PrerequisiteError(
                    f"Google's credentials cannot be refreshed ({error}); `{_LOGIN}` makes new ones"
                ) from None
        value: str | None = credentials.token
        return value

    return token
