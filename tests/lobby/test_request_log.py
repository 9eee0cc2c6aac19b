"""The line of a request in the log: ids to find it by, and nothing that it carried."""

import logging

import msgspec

from services.runtime.web.logs import JsonFormatter


async def test_a_request_is_found_by_its_ids(lobby_app, caplog):
    host, guest = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(host)
    with caplog.at_level(logging.INFO, "macao.web"):
        joined = await guest.post(f"/tables/{table['id']}/join", {}, key="a-key-that-is-nobodys-business")
    assert joined.status_code == 200
    lines = [JsonFormatter().format(one) for one in caplog.records if one.name == "macao.web"]
    (line,) = [one for one in lines if "/join" in one]
    told = msgspec.json.decode(line)
    assert told["table_id"] == table["id"]
    assert told["command"].startswith("c_")
    assert told["request_id"] == joined.headers["X-Request-Id"]
    assert told["route"] == "/v1/tables/{table_id}/join"
    for secret in (guest.token, "a-key-that-is-nobodys-business", "Ben"):
        assert secret not in line
