/**
 * Server-sent events by `fetch`, because an `EventSource` cannot say who asks.
 *
 * The connection is made anew whenever it is lost, and goes on after the last id that was received: nothing is missed
 * and nothing comes twice. Each frame is told once, parsed.
 */

const SILENCE_MAX_MS = 40_000; // the service says something every fifteen seconds
const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 8_000;

/**
 * Follow a stream until `signal` aborts.
 *
 * @param path the stream's address
 * @param told `signal`; `headers()`, asked before every connection; `frame(type, data)`; `link(connected)`, when the
 *   connection is there, and when it is lost; `refused(status)`, when there is nothing to follow, which ends it
 */
export async function follow(path, { signal, headers, frame, link = () => {}, refused = () => {} }) {
  let lastId = '';
  let wait = WAIT_MIN_MS;
  while (!signal.aborted) {
    const connection = new AbortController();
    const end = () => connection.abort();
    signal.addEventListener('abort', end, { once: true });
    addEventListener('offline', end, { once: true });
    try {
      const asked = { ...(await headers()), Accept: 'text/event-stream', ...(lastId && { 'Last-Event-ID': lastId }) };
      const answer = await fetch(path, { headers: asked, signal: connection.signal, cache: 'no-store' });
      if (!answer.ok && answer.status < 500 && answer.status !== 401 && answer.status !== 429) {
        refused(answer.status);
        return;
      }
      if (answer.ok) {
        link(true);
        wait = WAIT_MIN_MS;
        for await (const one of frames(answer.body, end)) {
          if (one.id) lastId = one.id;
          if (one.type !== 'keep-alive' && one.data) frame(one.type, JSON.parse(one.data));
        }
      }
    } catch {
      // The connection is gone; below it is made anew.
    } finally {
      signal.removeEventListener('abort', end);
      removeEventListener('offline', end);
    }
    if (signal.aborted) return;
    link(false);
    await pauseOrOnline(wait, signal);
    wait = Math.min(wait * 2, WAIT_MAX_MS);
  }
}

async function* frames(body, end) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let watchdog = setTimeout(end, SILENCE_MAX_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = setTimeout(end, SILENCE_MAX_MS);
      text += value;
      let border;
      while ((border = text.indexOf('\n\n')) >= 0) {
        yield parsed(text.slice(0, border));
        text = text.slice(border + 2);
      }
    }
  } finally {
    clearTimeout(watchdog);
  }
}

function parsed(text) {
  const found = { type: 'message', id: '', data: '' };
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).trimStart();
    if (line.startsWith('event:')) found.type = value;
    else if (line.startsWith('id:')) found.id = value;
    else if (line.startsWith('data:')) found.data += value;
  }
  return found;
}

function pauseOrOnline(ms, signal) {
  return new Promise((resume) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resume();
    }
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
