"""What is read to be folded is the same where the events lie in partitions."""

from services.runtime.log import EventLog
from tests.logs.conftest import write
from tests.store.writers import Stream, links_are_those_of_events


async def test_streams_of_all_partitions_are_read_to_be_folded(log: EventLog):
    for _ in range(12):
        stream = Stream()
        await write(log, stream, b"{}", b"{}")
        item = stream.next(b"{}", sealed=b'{"seat":1}')
        await log.append(item)
        links = await links_are_those_of_events(log, stream)
        assert [link.whole for link in links] == [b"{}", b"{}", b'{"seat":1}']
