"""What is around the database: Redis, disks, clocks, a service that answers."""

from __future__ import annotations

import os
import shutil
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import httpx

from services.cli.doctor.finding import Finding, failure, warning, well
from services.cli.doctor.patient import Patient
from services.runtime.redis_site import UNREACHABLE, RedisSite
from services.runtime.settings import SettingsError

SKEW_WARNING_SECONDS: Final = 0.5
SKEW_FAILURE_SECONDS: Final = 5.0
DATE_SECONDS: Final = 1.0
"""How coarse the Date header of an answer is."""
FREE_WARNING: Final = 0.15
FREE_FAILURE: Final = 0.05
ANSWER_SECONDS: Final = 5.0
REDIS_MAJOR_MIN: Final = 7


async def clocks(patient: Patient) -> list[Finding]:
    """This machine and every database agree on the time: thinking time and tokens are counted by both."""
    findings: list[Finding] = []
    for server in await patient.servers():
        before = time.time()
        theirs: float = await server.connection.fetchval(
            "SELECT extract(epoch FROM clock_timestamp())::float8"
        )
        after = time.time()
        skew = max(0.0, theirs - after, before - theirs)
        findings.append(_skew(f"the database{server.of}", skew))
    if patient.server:
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS) as client:
            try:
                sent = time.time()
                date = (await client.get(f"{patient.server}/health/live")).headers.get("date")
            except httpx.HTTPError:
                return findings  # the service is told of by itself
        if date:
            said = parsedate_to_datetime(date).timestamp()
            apart = max(0.0, sent - said - DATE_SECONDS, said - time.time())
            findings.append(_skew(patient.server, apart))
    return findings


async def bell(patient: Patient) -> list[Finding]:
    """Redis answers."""
    url = patient.settings.redis_url
    if not url:
        return [
            warning(
                "Redis", "there is none: readers poll, and limits are counted by each process alone",
                "Set MACAO_REDIS_URL, unless that is what you want.",
            )
        ]  # fmt: skip
    try:
        site = RedisSite(url, ANSWER_SECONDS)
    except SettingsError as error:
        return [
            failure(
                "Redis", f"{error}",
                "Write redis://:password@host:port/0, or what docs/operations.md has for Sentinel and a cluster.",
            )
        ]  # fmt: skip
    try:
        client: Any = site.client
        version = str((await client.info("server"))["redis_version"])
        await site.publish("macao:doctor", b"")
    except UNREACHABLE as error:
        return [
            failure(
                "Redis", f"it does not answer: {error}",
                "Start it, or mend MACAO_REDIS_URL. Meanwhile everything works, but slower: readers poll.",
            )
        ]  # fmt: skip
    finally:
        await site.close()
    if int(version.partition(".")[0]) < REDIS_MAJOR_MIN:
        return [
            warning("Redis", f"version {version}", f"Move to Redis {REDIS_MAJOR_MIN} or newer, or Valkey.")
        ]
    return [well("Redis", f"version {version} answers")]


async def disks(patient: Patient) -> list[Finding]:
    """There is room where this machine keeps something."""
    places: dict[str, Path] = {}
    checkpoints = patient.directory("checkpoint_directory")
    if checkpoints is not None:
        places["checkpoints"] = checkpoints
    if patient.home is not None:
        places["the home of macao up"] = patient.home
    elsewhere: list[str] = []
    sizes: list[str] = []
    for server in await patient.servers():
        size = await server.connection.fetchval("SELECT pg_size_pretty(pg_database_size(current_database()))")
        sizes.append(size)
        data = await server.connection.fetchval(
            "SELECT CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE')"
            " AND (inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1')"
            " THEN current_setting('data_directory') END"
        )
        if data is not None and os.path.exists(data):  # noqa: ASYNC240, PTH110 - nothing else runs here
            places[f"the database{server.of}"] = Path(data)
        else:
            elsewhere.append(f"the database{server.of} ({size})")
    findings = [found for name, place in places.items() for found in _room(name, place)]
    if elsewhere and patient.home is None:
        findings += [
            warning(
                "disks", f"{one} lies elsewhere: its disk was not looked at",
                "Watch the free space there: a full disk stops every move.",
            )
            for one in elsewhere
        ]  # fmt: skip
    return findings or [well("disks", f"the database has {', '.join(sizes)}; there is room")]


async def services(patient: Patient) -> list[Finding]:
    """The service that was named is ready."""
    if not patient.server:
        return []
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS) as client:
        try:
            answer = await client.get(f"{patient.server}/health/ready")
        except httpx.HTTPError as error:
            return [
                failure(
                    "services",
                    f"{patient.server} does not answer: {error!r}",
                    "Start it; see its log (runbook: ProcessDown).",
                )
            ]
    if answer.is_success:
        return [well("services", f"{patient.server} is ready")]
    return [
        failure(
            "services", f"{patient.server} is not ready: {answer.text[:300]}",
            "The answer names what is missing; see the other findings, and the log of the service.",
        )
    ]  # fmt: skip


def _skew(whose: str, seconds: float) -> Finding:
    said = f"this machine and {whose} are {seconds:.2f} s apart"
    advice = "Have both machines follow a time server (chrony, systemd-timesyncd)."
    if seconds > SKEW_FAILURE_SECONDS:
        return failure("clocks", said, advice)
    if seconds > SKEW_WARNING_SECONDS:
        return warning("clocks", said, advice)
    return well("clocks", said)


def _room(name: str, place: Path) -> list[Finding]:
    try:
        usage = shutil.disk_usage(place)
    except OSError as error:
        return [
            failure(
                "disks",
                f"{name}: {place} cannot be looked at ({error.strerror})",
                "Make it, or mend the setting.",
            )
        ]
    share = usage.free / usage.total
    said = f"{name}: {share:.0%} of the disk is free, {usage.free / 2**30:.1f} GiB"
    advice = "Make room, or move to a larger disk; a full disk stops every move."
    if share < FREE_FAILURE:
        return [failure("disks", said, advice)]
    return [warning("disks", said, advice)] if share < FREE_WARNING else [well("disks", said)]
