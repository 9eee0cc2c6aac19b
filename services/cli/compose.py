"""The services, alone or composed on one port."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, cast

from services.runtime.service import Factory
from services.runtime.settings import Settings
from services.runtime.web.app import App, create_app

APIS: Final = ("engine", "lobby", "projections")
"""The services that have an API of their own, and with it an OpenAPI document."""

SERVICES: Final = (*APIS, "web")
ALL: Final = "all"


class NoSuchServiceError(Exception):
    """There is no service of this name in this installation."""


def compose(service: str, settings: Settings) -> App:
    """Return the application of one service, or of all that are installed.

    Raises:
        NoSuchServiceError: with the names that there are.
    """
    installed = [name for name in SERVICES if find_spec(f"services.{name}")]
    if service != ALL and service not in installed:
        raise NoSuchServiceError(
            f"there is no service {service!r}; choose one of {', '.join([*installed, ALL])}"
        )
    names = installed if service == ALL else [service]
    return create_app(settings, [factory_of(name) for name in names])


def factory_of(name: str) -> Factory:
    """Return what builds a service."""
    return cast("Factory", import_module(f"services.{name}.app").service)
