"""The port on which everything answers."""

import socket
from typing import Final

import psutil

from services.cli.advice import Advice
from services.cli.embedded.ports import LOOPBACK, is_free

BACKLOG: Final = 1024
PORT_MAX: Final = 65535


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback port.

    Raises:
        Advice: the port is taken, by whom if that can be seen, and which one is free; or it may not be used.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except PermissionError as error:
        listener.close()
        raise Advice(f"Port {port} is reserved for root: choose one from 1024 on, as --port 8000.") from error
    except OSError as error:
        listener.close()
        other = next((near for near in range(port + 1, PORT_MAX) if is_free(near)), "…")
        raise Advice(
            f"Port {port} is taken{_by_whom(port)}: stop that program, or choose another port, as --port {other}."
        ) from error
    return listener


def _by_whom(port: int) -> str:
    """Name the program that listens there, as far as we may look."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,) and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except psutil.Error:
        pass
    return ""
