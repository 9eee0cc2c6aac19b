"""Services in the foreground: settings from the environment, the composed application, the HTTP server."""

import socket

from msgspec.structs import replace

from services.cli.advice import Advice
from services.cli.compose import NoSuchServiceError, compose
from services.runtime.settings import Settings, SettingsError
from services.runtime.web.logs import configure_logging
from services.runtime.web.request import PLATFORM
from services.runtime.web.server import ListenError, listen, server_of


def serve(service: str, host: str | None, port: int | None, descriptor: int | None) -> int:
    """Serve until SIGINT or SIGTERM, and return 0 if it came to serve at all.

    Args:
        service: a service's name, or ``all``.
        host: the address to listen on, or None for what the settings say.
        port: the port to listen on, or None for what the settings say.
        descriptor: an inherited listening socket to serve on in place of host and port.

    Raises:
        Advice: a setting is missing or wrong, there is no such service, or the port is taken.
    """
    try:
        settings = Settings.from_environment()
        settings = replace(settings, host=host or settings.host, port=port or settings.port)
        configure_logging(settings.log_level)
        application = compose(service, settings)
        listener = (
            listen(settings.host, settings.port) if descriptor is None else socket.socket(fileno=descriptor)
        )
    except (SettingsError, NoSuchServiceError, ListenError) as error:
        raise Advice(f"{error}.") from error
    with listener:
        server = server_of(application, settings)
        try:
            server.run([listener])
        except SystemExit:
            # So uvicorn ends a process that did not come to serve; what a setting is to blame for is said in a line.
            unfit = application.state[PLATFORM].unfit
            if unfit is None:
                raise
            raise Advice(f"{unfit}.") from unfit
    return 0 if server.started else 1
