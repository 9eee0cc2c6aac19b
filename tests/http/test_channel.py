"""A channel: it reads once for all, hands to those who keep up, and leaves the others to pull."""

import asyncio
import itertools
from contextlib import asynccontextmanager

import pytest

from services.runtime.bus import Bell
from services.runtime.web.channel import Channel, Follower
from services.runtime.web.frames import Frame
from services.runtime.web.one_write import OneWriteProtocol
from tests.http.app import settings_of
from tests.http.demo import LogSource, demo, write
from tests.http.serving import served, stream_of

STREAM = "t_1"
EVENTS = 20


class Shelf:
    """What there is to read."""

    def __init__(self):
        self.frames = []
        self.reads = 0
        self.error = None

    def add(self, *versions):
        self.frames += [Frame(version, b"", b"%d," % version) for version in versions]

    async def read(self, after):
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.read_on(after)

    def read_on(self, after):
        return [one for one in self.frames if one.version > after]


class Client:
    """A follower with a task that waits, as an open stream has, and the bytes that were pushed."""

    def __init__(self, channel, version, *, takes=True, form=lambda frame: frame.data):
        self.pushed = []
        self.takes = takes
        self.follower = Follower(channel, version, self.push, form)
        self.waiting = asyncio.create_task(self.follower.wait(5))
        channel.followers.add(self.follower)

    def push(self, chunk):
        if self.takes:
            self.pushed.append(chunk)
        return self.takes


@asynccontextmanager
async def opened(shelf, version=0):
    bell = Bell(settings_of("postgresql://localhost/none"))
    channel = Channel(bell, STREAM, version, shelf.read, 0.01)
    channel.bell = bell
    clients = []

    def client(version=version, **more):
        clients.append(Client(channel, version, **more))
        return clients[-1]

    def ring():
        bell.ring(1, [(STREAM, 1)])

    try:
        yield channel, client, ring
    finally:
        channel.close()
        for one in clients:
            one.waiting.cancel()


async def turns():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_keeps_up_is_handed_what_is_new_and_not_woken():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, ring):
        one, other = client(), client()
        await turns()
        shelf.add(1, 2)
        ring()
        await turns()
        for each in (one, other):
            assert (each.pushed, each.follower.version, each.waiting.done()) == ([b"1,2,"], 2, False)
            assert not each.follower.has_to_pull()
        assert channel.version == 2


async def test_all_are_read_for_at_once():
    shelf = Shelf()
    async with opened(shelf) as (_, client, ring):
        for _ in range(50):
            client()
        await turns()
        before = shelf.reads
        shelf.add(1)
        ring()
        await turns()
        assert shelf.reads - before == 2  # the event, and that there is no other


async def test_who_cannot_take_it_is_woken_and_behind():
    shelf = Shelf()
    async with opened(shelf) as (_, client, ring):
        slow, quick = client(takes=False), client()
        await turns()
        shelf.add(1)
        ring()
        await turns()
        assert (slow.waiting.result(), slow.follower.has_to_pull(), slow.follower.version) == (True, True, 0)
        assert quick.pushed == [b"1,"]


async def test_nothing_is_handed_over_a_gap():
    shelf = Shelf()
    shelf.add(1, 2, 3)
    async with opened(shelf, version=3) as (_, client, ring):
        late = client(version=1)
        await turns()
        shelf.add(4)
        ring()
        await turns()
        assert (late.pushed, late.waiting.result(), late.follower.has_to_pull()) == ([], True, True)


async def test_nothing_is_handed_in_the_middle_of_sending_and_the_next_wait_ends_at_once():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, ring):
        busy = client()
        busy.follower.wake()
        assert await busy.waiting  # it is doing something else from here on
        shelf.add(1)
        ring()
        await turns()
        assert (busy.pushed, channel.version) == ([], 1)
        assert await busy.follower.wait(0)
        assert busy.follower.has_to_pull()


async def test_when_it_cannot_be_read_all_are_woken_to_see_for_themselves(caplog):
    shelf = Shelf()
    async with opened(shelf) as (channel, client, ring):
        one = client()
        await turns()
        shelf.error = ConnectionResetError("gone")
        ring()
        await turns()
        assert (one.waiting.result(), one.follower.has_to_pull()) == (True, True)
        assert "could not be read" in caplog.text
        shelf.error = None
        shelf.add(1)
        async with asyncio.timeout(5):
            while channel.version == 0:
                await asyncio.sleep(0.01)
        assert channel.version == 1


async def test_what_leads_to_the_same_version_is_not_missed_either():
    shelf = Shelf()
    async with opened(shelf) as (_, client, ring):
        slow, quick = client(takes=False), client()
        await turns()
        anew = [Frame(0, b"", b"anew")]  # as of a board that was built once more
        shelf.read_on = lambda _: [anew.pop()] if anew else []
        ring()
        await turns()
        assert quick.pushed == [b"anew"]
        assert slow.follower.has_to_pull()
        assert not slow.follower.has_to_pull()


async def test_a_lost_ring_is_made_good_by_a_look():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, _):
        one = client()
        await turns()
        shelf.add(1)
        channel.look(0)
        await turns()
        assert one.pushed == []
        channel.look(1)
        await turns()
        assert one.pushed == [b"1,"]


@pytest.mark.parametrize("refused_each", [0, 1, 3], ids=["pushed", "pulled", "either"])
async def test_the_same_arrives_either_way(database, monkeypatch, refused_each):
    reads = 0
    frames = LogSource.frames
    push = OneWriteProtocol.push
    calls = itertools.count(1)

    async def counted(self, after):
        nonlocal reads
        reads += 1
        return await frames(self, after)

    def moody(self, data):
        if refused_each and next(calls) % refused_each == 0:
            return False
        return push(self, data)

    monkeypatch.setattr(LogSource, "frames", counted)
    monkeypatch.setattr(OneWriteProtocol, "push", moody)
    async with served(database, [demo]) as site:
        await write(site.platform.log, STREAM, 1)

        async def follow():
            async with stream_of(site.url, f"/v1/follow/{STREAM}") as reader:
                assert (await reader.next())[1] == 1
                ready.release()
                return [await reader.next() for _ in range(EVENTS)]

        ready = asyncio.Semaphore(0)
        readers = [asyncio.create_task(follow()) for _ in range(20)]
        for _ in readers:
            await ready.acquire()
        await asyncio.sleep(0.05)
        before = reads
        await write(site.platform.log, STREAM, EVENTS)
        told = await asyncio.gather(*readers)
        assert [frame[1] for frame in told[0]] == list(range(2, 2 + EVENTS))
        assert all(one == told[0] for one in told)
        assert reads - before <= 3 * EVENTS  # of twenty readers


async def test_what_was_committed_here_is_handed_on_and_not_read():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, _):
        one, slow = client(), client(takes=False)
        await turns()
        before = shelf.reads
        shelf.add(1, 2)
        channel.bell.ring(2, [(STREAM, 2)])  # it comes first, the frames with the same turn of the loop
        assert channel.take(shelf.frames)
        channel.hand_on(0, shelf.frames)
        await turns()
        assert (shelf.reads, channel.version) == (before, 2)
        assert (one.pushed, one.follower.version, one.waiting.done()) == ([b"1,2,"], 2, False)
        assert (slow.waiting.result(), slow.follower.has_to_pull()) == (True, True)
        shelf.add(3)
        channel.bell.ring(3, [(STREAM, 3)])  # of another process
        await turns()
        assert one.pushed == [b"1,2,", b"3,"]


async def test_what_does_not_join_on_is_not_taken_but_read():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, _):
        one = client()
        await turns()
        shelf.add(1, 2, 3)
        channel.bell.ring(3, [(STREAM, 3)])
        assert not channel.take(shelf.frames[1:])
        assert not channel.take([])
        await turns()
        assert (one.pushed, channel.version) == ([b"1,2,3,"], 3)
        assert not channel.take(shelf.frames)  # as read before


async def test_what_is_taken_in_the_middle_of_a_reading_is_told_once():
    shelf = Shelf()
    async with opened(shelf) as (channel, client, ring):
        one = client()
        await turns()
        gate = asyncio.Event()
        read = shelf.read

        async def slowly(after):
            found = await read(after)
            await gate.wait()
            return found

        channel._read = slowly
        shelf.add(1, 2, 3)
        ring()
        await turns()
        given = shelf.frames[:2]
        assert channel.take(given)
        channel.hand_on(0, given)
        gate.set()
        await turns()
        assert (one.pushed, one.follower.version, channel.version) == ([b"1,2,", b"3,"], 3, 3)


async def test_each_form_is_written_once_for_all_who_want_it():
    written = []

    def form(name):
        def write(frame):
            written.append((name, frame.version))
            return b"%b%d," % (name, frame.version)

        return write

    shelf = Shelf()
    async with opened(shelf) as (_, client, ring):
        forms = [form(b"a"), form(b"b")]
        clients = [client(form=forms[number % 2]) for number in range(6)]
        await turns()
        shelf.add(1, 2)
        ring()
        await turns()
        assert [one.pushed for one in clients] == [[b"a1,a2,"], [b"b1,b2,"]] * 3
        assert sorted(written) == [(b"a", 1), (b"a", 2), (b"b", 1), (b"b", 2)]
