"""Appends with the eventsourcing library, as fast as it goes: its recorder alone, with its functions in the database.

Run by the benchmark, with a Python that has the library and nothing of ours:
``python eventsourcing_driver.py WRITERS SECONDS``, with PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE in the
environment, and the body of an event on standard input. Prints one line of JSON.
"""

import json
import os
import sys
from threading import Barrier, Thread
from time import monotonic
from uuid import uuid4

from eventsourcing.persistence import StoredEvent  # type: ignore[import-not-found]
from eventsourcing.postgres import (  # type: ignore[import-not-found]
    PostgresApplicationRecorder,
    PostgresDatastore,
)

WARM_UP = 20


def main() -> None:
    """Write for so long, from so many threads, and print how many events that were."""
    writers, seconds, body = int(sys.argv[1]), float(sys.argv[2]), sys.stdin.buffer.read()
    datastore = PostgresDatastore(
        os.environ["PGDATABASE"], os.environ["PGHOST"], os.environ["PGPORT"], os.environ["PGUSER"],
        os.environ["PGPASSWORD"], pool_size=writers, enable_db_functions=True, schema="eventsourcing",
    )  # fmt: skip
    recorder = PostgresApplicationRecorder(datastore, events_table_name="stored_events")
    recorder.create_table()
    counts: list[tuple[int, float, float]] = []
    together = Barrier(writers)

    def write() -> None:
        stream, version = uuid4(), 0
        for _ in range(WARM_UP):
            version += 1
            recorder.insert_events([StoredEvent(stream, version, "rolled", body)])
        together.wait()
        begun, written = monotonic(), 0
        while monotonic() - begun < seconds:
            version += 1
            recorder.insert_events([StoredEvent(stream, version, "rolled", body)])
            written += 1
        counts.append((written, begun, monotonic()))

    threads = [Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    datastore.close()
    taken = max(ended for _, _, ended in counts) - min(begun for _, begun, _ in counts)
    print(json.dumps({"events": sum(written for written, _, _ in counts), "seconds": taken}))


if __name__ == "__main__":
    main()
