"""A port that is none is told as that, by whichever command it comes."""

import pytest

from services.cli.main import main
from services.runtime.web.server import ListenError, listen


@pytest.mark.parametrize("port", ["0", "99999", "-1", "0x50", "x"])
def test_up_says_what_a_port_is(capsys: pytest.CaptureFixture[str], port: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", f"--port={port}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("argument --port: a port lies between 1 and 65535\n")


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_server_says_what_a_port_is(port: int) -> None:
    with pytest.raises(ListenError, match=f"{port} is no port"):
        listen("127.0.0.1", port)
