"""Where the bearer token of a request comes from: a file, the environment, or Google's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from lae_controller.config import read_text
from lae_controller.errors import PrerequisiteError

TOKEN_VARIABLE = "LAE_SERVE_TOKEN"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"

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
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
    except ImportError as error:
        raise PrerequisiteError(
            f"{error.name or 'google-auth'} is not installed; expected it for Google's servers. "
            "`pip install 'lae-controller[cloud]'`"
        ) from None
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except GoogleAuthError as error:
        raise PrerequisiteError(
            f"no credentials for Google's servers ({error}); expected Application Default "
            "Credentials. `gcloud auth application-default login` makes them"
        ) from None

    def token() -> str | None:
        if not credentials.valid:
            try:
                credentials.refresh(Request())
            except GoogleAuthError as error:
                raise PrerequisiteError(
                    f"Google's credentials cannot be refreshed ({error}); `gcloud auth "
                    "application-default login` makes new ones"
                ) from None
        value: str | None = credentials.token
        return value

    return token
