"""The one settings type, read from environment variables that begin with ``MACAO_``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, Struct


class SettingsError(Exception):
    """A setting is missing or cannot be used; the message says which, and what to do."""


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be configured. The environment variable is ``MACAO_`` and the field's name in capitals.

    Attributes:
        database_url: PostgreSQL, as ``postgresql://user:password@host:port/database``; several hosts with commas.
        database_direct_url: PostgreSQL itself, where ``database_url`` leads to a pooler; empty: it does not.
        log_servers: PostgreSQL servers for further logs, as ``a=postgresql://… b=postgresql://…``; empty: none.
        redis_url: Redis 7 or Valkey: one, Sentinel or a cluster (``redis_url.py``); empty: no doorbell, readers poll.
        secret_key: 32 bytes in base64url; encrypts seeds and signing keys at rest, which are lost without it. Behind
            it, with commas, may stand earlier ones, which still decrypt.
        host: the address to listen on.
        port: the TCP port to listen on.
        public_url: the address under which clients reach the service, for links; empty: ``http://host:port``.
        engine_url: where the lobby reaches the engine; empty: the engine runs in the same process.
        database_pool_max: connections of one process to PostgreSQL for reading and writing; each subscription adds one.
        poll_seconds: how often a reader looks at the log when no doorbell rings.
        append_batch_max: the most commands that one append statement carries.
        guests_per_minute: guests that one address may make; 0: as many as it likes.
        logins_per_minute: passwords that one address may try; 0: as many as it likes.
        logins_per_name: passwords that may be tried for one account in a minute, wherever from; 0: any number.
        requests_per_caller: requests that one token's session or player may send in a minute; 0: any number.
        requests_per_address: requests that one address may send in a minute; 0: any number.
        streams_per_caller: streams that one player may have open in a process; 0: any number.
        streams_per_address: streams that one address may have open in a process; 0: any number.
        cors_origins: web origins, with commas, whose pages may call the API; ``*``: all; empty: none but our own.
        trusted_proxies: addresses and networks, with commas, whose ``X-Forwarded-For`` is believed.
        oidc_issuer: an OpenID Connect issuer whose tokens are taken beside our own, as its tokens name it; empty: none.
        oidc_audience: the name under which that issuer knows this installation.
        oidc_jwks_url: where the issuer's keys are; empty: where its discovery document says.
        oidc_scopes: which claims give more than ``play``, as ``audit=groups:auditors,operate=groups:operators``.
        idle_table_hours: an open table that nobody has touched for so long is closed; 0: never.
        bot_matches_per_player: matches with bots that one player may have running; 0: any number.
        bots: whether the engine plays the bots' seats in this process.
        bot_pace_seconds: the usual pause of a bot before it moves; 0: none, for tests.
        checkpoint_events: a checkpoint of the log is signed after so many events at the latest,
        checkpoint_seconds: and after so many seconds; within a second when a match has ended.
        checkpoint_directory: where checkpoints are kept outside the database; empty: nowhere.
        command_log_days: for how many days the commands log is kept; at least eight, as matches can be disputed.
        traces_url: where traces go, by OTLP over HTTP, as ``http://collector:4318/v1/traces``; empty: none are made.
        log_level: ``debug``, ``info``, ``warning`` or ``error``.
    """

    database_url: str
    log_servers: str = ""
    database_direct_url: str = ""
    redis_url: str = ""
    secret_key: str
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535)] = 8000
    public_url: str = ""
    engine_url: str = ""
    database_pool_max: Annotated[int, Meta(ge=3, le=200)] = 12
    poll_seconds: Annotated[float, Meta(gt=0, le=60)] = 1.0
    append_batch_max: Annotated[int, Meta(ge=1, le=4096)] = 512
    guests_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 6_000
    logins_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 120
    logins_per_name: Annotated[int, Meta(ge=0, le=1_000_000)] = 20
    requests_per_caller: Annotated[int, Meta(ge=0, le=60_000_000)] = 6_000
    requests_per_address: Annotated[int, Meta(ge=0, le=60_000_000)] = 60_000
    streams_per_caller: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    streams_per_address: Annotated[int, Meta(ge=0, le=1_000_000)] = 2_000
    cors_origins: str = ""
    trusted_proxies: str = ""
    oidc_issuer: str = ""
    oidc_audience: str = ""
    oidc_jwks_url: str = ""
    oidc_scopes: str = ""
    idle_table_hours: Annotated[float, Meta(ge=0, le=8_760)] = 24.0
    bot_matches_per_player: Annotated[int, Meta(ge=0, le=1_000_000)] = 20
    bots: bool = True
    bot_pace_seconds: Annotated[float, Meta(ge=0, le=5)] = 1.2
    checkpoint_events: Annotated[int, Meta(ge=1, le=10_000_000)] = 10_000
    checkpoint_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 10.0
    checkpoint_directory: str = ""
    command_log_days: Annotated[int, Meta(ge=8, le=3650)] = 30
    traces_url: str = ""
    log_level: str = "info"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings.

        Raises:
            SettingsError: in one line, which variable is missing or wrong.
        """
        source = os.environ if environment is None else environment
        given: dict[str, Any] = {
            name: source[variable_of(name)] for name in cls.__struct_fields__ if source.get(variable_of(name))
        }
        for required in ("database_url", "secret_key"):
            if required not in given:
                raise SettingsError(f"{variable_of(required)} is not set; ./macao up sets it by itself")
        try:
            return msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as error:
            field = str(error).rpartition("$.")[2].rstrip("`")
            raise SettingsError(
                f"{variable_of(field)} cannot be used: {str(error).partition(' - ')[0]}"
            ) from error


def variable_of(field: str) -> str:
    """Name the environment variable of a setting."""
    return f"MACAO_{field.upper()}"
