"""Background tasks end, also when a library loses the cancellation."""

import asyncio

from services.runtime import tasks


async def test_a_task_that_loses_its_cancellation_is_told_again(monkeypatch):
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0.01)
    lost = 0

    async def deaf() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                lost += 1
                if lost == 3:
                    raise

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await tasks.end(task)
    assert lost == 3
    assert task.cancelled()


async def test_what_has_ended_or_fails_while_ending_does_not_disturb():
    async def done() -> None:
        return None

    async def failing() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise KeyError("not yours")

    ended = [asyncio.create_task(done()), asyncio.create_task(failing())]
    await asyncio.sleep(0.01)
    await tasks.end(*ended)
    await tasks.end()
    assert all(task.done() for task in ended)
    assert isinstance(ended[1].exception(), KeyError)


async def test_an_end_that_is_itself_cancelled_stops_waiting():
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    ending = asyncio.create_task(tasks.end(task))
    await asyncio.sleep(0.01)
    ending.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({ending})
    assert ending.cancelled()
    release.set()
    await task
